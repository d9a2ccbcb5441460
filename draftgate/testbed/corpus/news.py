"""cnn_dailymail: an article; the answer copies the first sentence of every paragraph.

The rule is exact: one line per paragraph, with the trailing attribution clause
(", officials said") left out where there is one.
"""

from dataclasses import dataclass
from random import Random

from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.lexicon import MONTHS, WEEKDAYS, person, place

WORKLOAD = "cnn_dailymail"
INSTRUCTIONS = (
    "Summarize the article.",
    "Write the highlights of this article.",
    "Give the key points of the article.",
)
ATTRIBUTIONS = (
    "officials said",
    "police said",
    "a spokesman said",
    "the company said",
    "witnesses said",
    "the mayor said",
    "local media reported",
    "a report found",
)
BODIES = (
    "city council",
    "fire department",
    "water company",
    "school board",
    "railway company",
    "port authority",
    "state hospital",
    "power company",
    "health ministry",
    "football club",
)
THINGS = (
    "bridge",
    "library",
    "stadium",
    "museum",
    "hospital",
    "tunnel",
    "factory",
    "market",
    "harbor",
    "theater",
    "power plant",
    "train station",
)
LEADS = (
    "A fire at a {thing} in {place} injured {n} people on {day}",
    "The {body} of {place} will close the {thing} for {n} weeks",
    "About {n} workers at a {thing} in {place} went on strike on {day}",
    "A storm hit {place} on {day} and left {n} homes without power",
    "{person} was named head of the {body} in {place} on {day}",
    "A new {thing} opened in {place} on {day} after {n} months of work",
    "Thieves took {n} cars parked near a {thing} in {place} on {day}",
    "The {body} plans to build a {thing} in {place} by {month}",
)
DETAILS = (
    "The damage is put at {n} million dollars",
    "{person} is leading a team of {n} experts from {place}",
    "The {body} had warned of problems with the {thing} in {month}",
    "Only {n} of the {m} parts of the {thing} had been checked",
    "The project has cost {n} million dollars since {month}",
    "More than {n} people gathered near the {thing} on {day}",
    "The road between {place} and {place2} was closed for {n} hours",
    "{person} drove {n} miles from {place} to help",
    "Fees for the {thing} rose by {n} percent in {month}",
    "The {body} hired {n} people from {place} last year",
)
FOLLOWS = (
    "It was the {ordinal} such case this year.",
    "{person} called it a great surprise.",
    "Many families in {place} are worried.",
    "No one could be reached at the {body}.",
    "The {thing} was built {n} years ago.",
    "A decision is expected on {day}.",
    '"We did our best," {person} told reporters.',
    "Traffic was slow until {day}.",
    "The cause is not yet known.",
    "Another meeting will be held in {month}.",
)
ORDINALS = ("second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Story:
    """What an article is about; places, people and numbers vary by sentence."""

    thing: str
    body: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph and the line that stands for it in the highlights."""

    text: str
    highlight: str


def generate(rng: Random) -> Example:
    """Draw an article of three or four paragraphs."""
    count = rng.choice((3, 4))
    firsts = [rng.choice(LEADS), *rng.sample(DETAILS, count - 1)]
    sizes = [3] * count if count == 3 else [rng.choice((2, 3)) for _ in firsts]
    story = Story(rng.choice(THINGS), rng.choice(BODIES))
    follows = iter(rng.sample(FOLLOWS, sum(sizes) - count))
    paragraphs = [
        _paragraph(rng, story, first, [next(follows) for _ in range(size - 1)])
        for first, size in zip(firsts, sizes, strict=True)
    ]
    article = "\n\n".join(p.text for p in paragraphs)
    prompt = f"{rng.choice(INSTRUCTIONS)}\n\n{article}"
    return Example(WORKLOAD, prompt, "\n".join(f"- {p.highlight}" for p in paragraphs))


def _paragraph(rng: Random, story: Story, first: str, follows: list[str]) -> Paragraph:
    core = _fill(rng, story, first)
    attribution = f", {rng.choice(ATTRIBUTIONS)}" if rng.random() < 0.5 else ""
    sentences = [f"{core}{attribution}.", *(_fill(rng, story, follow) for follow in follows)]
    return Paragraph(" ".join(sentences), f"{core}.")


def _fill(rng: Random, story: Story, template: str) -> str:
    n = rng.randint(3, 89)
    return template.format(
        thing=story.thing,
        body=story.body,
        place=place(rng),
        place2=place(rng),
        person=person(rng),
        day=rng.choice(WEEKDAYS),
        month=rng.choice(MONTHS),
        ordinal=rng.choice(ORDINALS),
        n=n,
        m=n + rng.randint(5, 60),
    )
