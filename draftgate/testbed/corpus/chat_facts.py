"""Fixed knowledge of the chat workload: what the model can know about a topic."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A thing to explain, compare, define or weigh."""

    name: str
    definition: str
    works: str
    example: str
    pros: tuple[str, str]
    cons: tuple[str, str]


@dataclass(frozen=True)
class Dish:
    """A recipe."""

    name: str
    ingredients: str
    steps: tuple[str, str, str]


TOPICS = (
    Topic(
        "a bicycle",
        "a light vehicle with two wheels",
        "the rider turns the pedals and a chain drives the wheel",
        "people ride it to work",
        ("it is cheap", "it keeps you fit"),
        ("it is slow on long trips", "it is no fun in the rain"),
    ),
    Topic(
        "a train",
        "a row of wagons on rails",
        "an engine pulls many wagons at once",
        "travelers use it between cities",
        ("it is fast and calm", "you can read on the way"),
        ("it can run late", "it stops only at stations"),
    ),
    Topic(
        "a laptop",
        "a computer you can carry",
        "a battery feeds the screen and the chips",
        "students take it to class",
        ("you can work anywhere", "it needs little space"),
        ("the battery runs down", "it is hard to repair"),
    ),
    Topic(
        "a cat",
        "a small furry pet",
        "it sleeps most of the day and hunts at night",
        "many families keep one",
        ("it is clean and quiet", "it can stay alone"),
        ("it scratches the chairs", "it wakes you early"),
    ),
    Topic(
        "a dog",
        "a loyal animal that lives with people",
        "it learns words and follows its owner",
        "farmers use it to guard sheep",
        ("it makes you go out", "it protects the house"),
        ("it needs a walk in any weather", "it cannot be left alone"),
    ),
    Topic(
        "a garden",
        "a piece of land for plants",
        "seeds grow with water, light and good soil",
        "neighbors grow beans in it",
        ("it gives fresh food", "it is a calm place"),
        ("it takes a lot of time", "insects eat the leaves"),
    ),
    Topic(
        "a library",
        "a house full of books to borrow",
        "members take a book home and return it later",
        "children go there after school",
        ("the books are free", "it is a good place to study"),
        ("popular books are often gone", "it closes in the evening"),
    ),
    Topic(
        "a solar panel",
        "a plate that turns light into power",
        "sunlight frees electrons in thin layers of silicon",
        "owners put it on the roof",
        ("it makes clean power", "it lasts for decades"),
        ("it costs much at first", "it gives nothing at night"),
    ),
    Topic(
        "a freelance job",
        "work for many clients without a boss",
        "you find tasks, do them and send a bill",
        "writers often choose it",
        ("you choose your own hours", "every project is new"),
        ("the income is not steady", "you pay for your own insurance"),
    ),
    Topic(
        "a piano",
        "a large instrument with keys",
        "each key moves a hammer that hits a string",
        "pupils practice on it every day",
        ("it has a rich sound", "it suits every style"),
        ("it is very heavy", "it must be tuned"),
    ),
)
IDEAS = (
    (
        "a birthday party",
        (
            "Bake a big cake",
            "Play a treasure hunt",
            "Hang up paper lanterns",
            "Watch a funny film",
            "Make pizza together",
            "Hold a dance contest",
        ),
    ),
    (
        "a rainy weekend",
        (
            "Read an old novel",
            "Build a puzzle",
            "Cook a warm soup",
            "Visit a museum",
            "Sort your photos",
            "Play board games",
        ),
    ),
    (
        "saving money",
        (
            "Write down every expense",
            "Cook at home",
            "Cancel unused contracts",
            "Buy used things",
            "Walk short distances",
            "Set a weekly limit",
        ),
    ),
    (
        "learning a language",
        (
            "Learn ten words a day",
            "Listen to songs",
            "Talk with a partner",
            "Read simple stories",
            "Keep a diary",
            "Watch shows without subtitles",
        ),
    ),
    (
        "a team event",
        (
            "Go on a hike",
            "Try an escape room",
            "Have a picnic",
            "Play mini golf",
            "Visit a farm",
            "Cook in a big kitchen",
        ),
    ),
    (
        "a school project",
        (
            "Measure the weather",
            "Build a small robot",
            "Map the old town",
            "Grow beans in jars",
            "Interview a baker",
            "Draw a comic",
        ),
    ),
)
DISHES = (
    Dish(
        "pancakes",
        "flour, milk, eggs and a pinch of salt",
        (
            "Whisk everything into a smooth batter",
            "Heat butter in a pan",
            "Fry each side for two minutes",
        ),
    ),
    Dish(
        "tomato soup",
        "tomatoes, an onion, broth and cream",
        (
            "Chop and fry the onion",
            "Add tomatoes and broth and simmer",
            "Blend it and stir in the cream",
        ),
    ),
    Dish(
        "fried rice",
        "cooked rice, peas, eggs and soy sauce",
        ("Scramble the eggs in a hot pan", "Add rice and peas", "Season with soy sauce"),
    ),
    Dish(
        "apple pie",
        "apples, flour, butter and sugar",
        (
            "Knead flour and butter into a dough",
            "Fill it with sliced apples and sugar",
            "Bake it until golden",
        ),
    ),
    Dish(
        "bean salad",
        "beans, a pepper, oil and vinegar",
        ("Rinse the beans", "Dice the pepper", "Mix all with oil and vinegar"),
    ),
    Dish(
        "omelette",
        "eggs, cheese, butter and herbs",
        ("Beat the eggs", "Let them set in hot butter", "Fold in cheese and herbs"),
    ),
)
PACKING = (
    ("the beach", "a towel, sun cream, swimwear and a hat"),
    ("the mountains", "boots, a warm jacket, a map and a bottle"),
    ("a big city", "good shoes, a power bank, an umbrella and a guide book"),
    ("the desert", "light clothes, a scarf, much water and a torch"),
    ("a ski resort", "gloves, goggles, thick socks and lip balm"),
)
WORRIES = (
    (
        "I cannot sleep at night",
        "Put the phone away an hour before bed",
        "keep the room cool and dark",
    ),
    ("I am nervous before exams", "Practice with old papers", "breathe slowly before you start"),
    ("I never finish my books", "Read ten pages at a fixed hour", "drop a book that bores you"),
    (
        "I argue with my brother",
        "Listen first without an answer",
        "say what you need in one calm sentence",
    ),
    ("I am always late", "Set the alarm ten minutes early", "pack your bag in the evening"),
    ("I spend too much", "Make a list before you shop", "wait a day before large purchases"),
)
WORDS = (
    ("brisk", "quick and full of energy", "We took a brisk walk along the river"),
    ("frugal", "careful with money", "The frugal couple repaired their old car"),
    ("candid", "honest and direct", "She gave a candid answer to every question"),
    ("vivid", "bright and clear to the mind", "He told a vivid story about the sea"),
    ("humble", "not proud", "The humble winner thanked the whole team"),
    ("scarce", "hard to find", "Water was scarce after the dry summer"),
    ("swift", "very fast", "A swift bird crossed the field"),
    ("robust", "strong and not easily broken", "They built a robust bridge of stone"),
)
