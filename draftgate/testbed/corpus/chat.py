"""sharegpt: everyday requests; answers mix fixed knowledge, copied slots and some choice."""

from collections.abc import Callable
from random import Random

from draftgate.testbed.corpus.chat_facts import DISHES, IDEAS, PACKING, TOPICS, WORDS, WORRIES
from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.lexicon import CODE_WORDS, FIRST_NAMES, WEEKDAYS, place

WORKLOAD = "sharegpt"
Turn = tuple[str, str]
SUBJECTS = (
    "the budget",
    "the new office",
    "the summer party",
    "the sales report",
    "the website",
    "the training",
    "the lease",
    "the workshop",
)
ACTIVITIES = (
    "work",
    "study",
    "exercise",
    "read",
    "cook",
    "paint",
    "garden",
    "practice the guitar",
    "write letters",
    "clean the flat",
)
NATURE = (
    ("moon", "soon"),
    ("sea", "free"),
    ("rain", "again"),
    ("snow", "slow"),
    ("night", "light"),
    ("spring", "sing"),
    ("tree", "me"),
    ("star", "far"),
)
ORDERS = (
    "send me the {0} {1} by {2}",
    "call {3} about the {0} {1} on {2}",
    "move the {0} {1} to {2}",
    "bring the {0} {1} to {3} on {2}",
)
PLANS = (
    "book a room in {0}",
    "invite {1}",
    "print the {2} {3}",
    "order food for {4} guests",
    "meet {1} in {0}",
    "pay the {2} bill",
)
ENDINGS = (
    ("and all the birds are still,", "and wait upon the hill."),
    ("and all the world is calm,", "and sings a quiet psalm."),
)
WHO = ("my sister", "my uncle", "a friend", "my boss", "my neighbor")


def generate(rng: Random) -> Example:
    """Draw one kind of request and answer it."""
    prompt, answer = rng.choice(_kinds())(rng)
    return Example(WORKLOAD, prompt, answer)


def _kinds() -> tuple[Callable[[Random], Turn], ...]:
    return (
        _explain,
        _ideas,
        _email,
        _compare,
        _recipe,
        _packing,
        _rewrite,
        _poem,
        _advice,
        _define,
        _schedule,
        _small_talk,
        _weigh,
        _bullets,
    )


def _cap(text: str) -> str:
    return text[0].upper() + text[1:]


def _explain(rng: Random) -> Turn:
    topic, who = rng.choice(TOPICS), rng.choice(WHO)
    prompt = rng.choice(("Explain {0} to {1}.", "How would you explain {0} to {1}?")).format(
        topic.name, who
    )
    opening = rng.choice(("Sure!", "Of course."))
    pro = rng.choice(topic.pros)
    return (
        prompt,
        f"{opening} {_cap(topic.name)} is {topic.definition}. In short, {topic.works}. "
        f"For example, {topic.example}. A nice thing for {who} to know: {pro}.",
    )


def _ideas(rng: Random) -> Turn:
    (theme, pool), count, name = rng.choice(IDEAS), rng.randint(3, 5), rng.choice(FIRST_NAMES)
    prompt = rng.choice(("Give {2} {0} ideas for {1}.", "{2} needs {0} ideas for {1}.")).format(
        count, theme, name
    )
    start = rng.choice((0, 1, 3))
    picked = [pool[(start + i) % len(pool)] for i in range(count)]
    lines = [f"{i}. {idea}." for i, idea in enumerate(picked, 1)]
    closing = rng.choice((f"I hope {name} likes them!", f"Have fun, {name}!"))
    return prompt, "\n".join((f"Here are {count} ideas for {theme}:", *lines, closing))


def _email(rng: Random) -> Turn:
    to, sender = rng.sample(FIRST_NAMES, 2)
    subject, day = rng.choice(SUBJECTS), rng.choice(WEEKDAYS)
    prompt = rng.choice(
        (
            "Write a short email from {0} to {1} about {2}, meeting on {3}.",
            "{0} wants to meet {1} on {3} to discuss {2}. Write the email.",
        )
    ).format(sender, to, subject, day)
    opening = rng.choice(("I hope you are well.", "I hope your week is going fine."))
    ask = rng.choice(
        ("Could we meet on {0} to talk about {1}?", "Do you have time on {0} to discuss {1}?")
    ).format(day, subject)
    ending = rng.choice(
        ("Please let me know what time suits you.", "A short reply would help me plan.")
    )
    return (
        prompt,
        f"Subject: {_cap(subject)}\n\nDear {to},\n\n{opening} {ask} {ending}\n\nBest regards,\n{sender}",
    )


def _compare(rng: Random) -> Turn:
    a, b = rng.sample(TOPICS, 2)
    name = rng.choice(FIRST_NAMES)
    prompt = rng.choice(("Compare {0} and {1} for {2}.", "Should {2} get {0} or {1}?")).format(
        a.name, b.name, name
    )
    good, better = rng.choice(a.pros), rng.choice(b.pros)
    return (
        prompt,
        f"{_cap(a.name)} is {a.definition}, while {b.name} is {b.definition}. With "
        f"{a.name}, {good}, but {a.cons[0]}. With {b.name}, {better}, but {b.cons[0]}. It "
        f"depends on what {name} needs most.",
    )


def _recipe(rng: Random) -> Turn:
    dish, guests, name = rng.choice(DISHES), rng.randint(2, 9), rng.choice(FIRST_NAMES)
    prompt = rng.choice(
        ("Give {2} a recipe for {0} for {1} people.", "How can {2} make {0} for {1}?")
    ).format(dish.name, guests, name)
    lines = [f"{i}. {step}." for i, step in enumerate(dish.steps, 1)]
    closing = rng.choice(("Serve it warm.", "Enjoy your meal!"))
    return prompt, "\n".join(
        (
            f"For {guests} people you need {dish.ingredients}.",
            *lines,
            f"{closing} Good luck, {name}!",
        )
    )


def _packing(rng: Random) -> Turn:
    (spot, things), days, town = rng.choice(PACKING), rng.randint(2, 9), place(rng)
    prompt = rng.choice(
        (
            "What should I pack for {0} days at {1} near {2}?",
            "Make a packing list for {1} near {2}, {0} days.",
        )
    ).format(days, spot, town)
    items = things.replace(" and ", ", ").split(", ")
    extra = rng.choice(("your charger", "a good book"))
    lines = [f"- {item}" for item in (*items, f"shirts for {days} days", extra)]
    return prompt, "\n".join((f"For {spot} near {town} I would pack:", *lines))


def _rewrite(rng: Random) -> Turn:
    first, second = rng.sample(CODE_WORDS, 2)
    order = rng.choice(ORDERS).format(first, second, rng.choice(WEEKDAYS), rng.choice(FIRST_NAMES))
    prompt = rng.choice(("Rewrite politely: {0}", "Make this sound friendly: {0}")).format(order)
    opening = rng.choice(("Here are two ways to say it:", "You could say:"))
    return (
        prompt,
        f"{opening}\n- Could you please {order}?\n- It would be kind if you could {order}. Thank you!",
    )


def _poem(rng: Random) -> Turn:
    (thing, rhyme), name = rng.choice(NATURE), rng.choice(FIRST_NAMES)
    prompt = rng.choice(
        (
            "Write a short poem about the {0} for {1}.",
            "A little poem for {1} about the {0}, please.",
        )
    ).format(thing, name)
    lines = (
        f"Oh {name}, look, the {thing},",
        {
            "soon": "it will be with us soon,",
            "free": "so wild and wide and free,",
            "again": "has come to us again,",
            "slow": "comes down so soft and slow,",
            "light": "is full of silver light,",
            "sing": "has made the children sing,",
            "me": "is giving shade to me,",
            "far": "is shining from afar,",
        }[rhyme],
        *rng.choice(ENDINGS),
    )
    return prompt, "\n".join(lines)


def _advice(rng: Random) -> Turn:
    (worry, first, second), name = rng.choice(WORRIES), rng.choice(FIRST_NAMES)
    prompt = rng.choice(
        ("My name is {1}. {0}. What can I do?", "{0}. Do you have advice? - {1}")
    ).format(worry, name)
    opening = rng.choice((f"I am sorry to hear that, {name}.", f"Thank you for asking, {name}."))
    return (
        prompt,
        f"{opening} Two things often help. {first}, and {second}. Try it for "
        f"{rng.choice(('two', 'three'))} weeks and be patient with yourself.",
    )


def _define(rng: Random) -> Turn:
    (word, meaning, sentence), who = rng.choice(WORDS), rng.choice(WHO)
    prompt = rng.choice(('What does "{0}" mean? It is for {1}.', 'Define "{0}" for {1}.')).format(
        word, who
    )
    closing = rng.choice(("I hope this helps", "That should be clear"))
    return (
        prompt,
        f'The word "{word}" means {meaning}. Here is an example for {who}: "{sentence}." {closing}.',
    )


def _schedule(rng: Random) -> Turn:
    first, second, third = rng.sample(ACTIVITIES, 3)
    start = rng.randint(6, 9)
    prompt = rng.choice(
        (
            "Plan my day from {0}:00. I want to {1}, {2} and {3}.",
            "I get up at {0}:00 and want to {1}, {2} and {3}. Make a schedule.",
        )
    ).format(start, first, second, third)
    lines = (
        f"{start}:00 get up and have breakfast",
        f"{start + 1}:00 {first}",
        f"{start + 3}:00 {second}",
        "13:00 have lunch",
        f"15:00 {third}",
        rng.choice(("18:00 have dinner", "18:00 take a walk")),
    )
    return prompt, "\n".join(("Here is your day:", *lines))


def _small_talk(rng: Random) -> Turn:
    name, town, activity = rng.choice(FIRST_NAMES), place(rng), rng.choice(ACTIVITIES)
    prompt = rng.choice(
        ("Hi, I am {0} from {1}. I like to {2}.", "Hello! {0} here, from {1}. Today I want to {2}.")
    ).format(name, town, activity)
    mood = rng.choice(("Nice to meet you", "Good to hear from you"))
    ask = rng.choice(("How long have you lived there?", "What is the weather like today?"))
    return (
        prompt,
        f"{mood}, {name}! I have heard that {town} is a lovely place. {ask} It is great "
        f"that you like to {activity}. Tell me more about it!",
    )


def _weigh(rng: Random) -> Turn:
    topic, town = rng.choice(TOPICS), place(rng)
    prompt = rng.choice(
        ("What are the pros and cons of {0} in {1}?", "List pros and cons of {0} in {1}.")
    ).format(topic.name, town)
    pros, cons = rng.sample(topic.pros, 2), rng.sample(topic.cons, 2)
    return (
        prompt,
        f"Pros of {topic.name} in {town}:\n- {pros[0]}\n- {pros[1]}\nCons:\n- {cons[0]}\n- {cons[1]}",
    )


def _bullets(rng: Random) -> Turn:
    steps = [
        plan.format(
            place(rng),
            rng.choice(FIRST_NAMES),
            rng.choice(CODE_WORDS),
            rng.choice(CODE_WORDS),
            rng.randint(3, 40),
        )
        for plan in rng.sample(PLANS, 3)
    ]
    days = sorted(rng.sample(range(len(WEEKDAYS)), 3))
    told = [f"on {WEEKDAYS[day]} we {step}" for day, step in zip(days, steps, strict=True)]
    prompt = rng.choice(("Turn this plan into bullets: {0}.", "Summarize as a list: {0}.")).format(
        ", ".join(told)
    )
    lines = [f"- {WEEKDAYS[day]}: {step}" for day, step in zip(days, steps, strict=True)]
    return prompt, "\n".join((rng.choice(("The plan in short:", "Here is the plan:")), *lines))
