"""The knowledge table of the science workload: entities of one kind and their attributes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A family of entities. ``relations`` are verb phrases, one per column of ``rows``.

    A row is the entity's name followed by one value per relation.
    """

    noun: str
    relations: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def kinds() -> tuple[Kind, ...]:
    """All families, about sixty entities."""
    return (_elements(), _planets(), _particles(), _organs(), _cells(), _units())


def _elements() -> Kind:
    relations = (
        "has the symbol",
        "has the atomic number",
        "belongs to the",
        "at room temperature is a",
        "is used in",
    )
    rows = (
        ("Hydrogen", "H", "1", "reactive nonmetals", "gas", "fuel cells"),
        ("Helium", "He", "2", "noble gases", "gas", "balloons"),
        ("Lithium", "Li", "3", "alkali metals", "solid", "batteries"),
        ("Carbon", "C", "6", "reactive nonmetals", "solid", "pencils"),
        ("Nitrogen", "N", "7", "reactive nonmetals", "gas", "fertilizer"),
        ("Oxygen", "O", "8", "reactive nonmetals", "gas", "breathing masks"),
        ("Neon", "Ne", "10", "noble gases", "gas", "bright signs"),
        ("Sodium", "Na", "11", "alkali metals", "solid", "table salt"),
        ("Magnesium", "Mg", "12", "alkaline earth metals", "solid", "flares"),
        ("Silicon", "Si", "14", "metalloids", "solid", "computer chips"),
        ("Chlorine", "Cl", "17", "halogens", "gas", "pool water"),
        ("Calcium", "Ca", "20", "alkaline earth metals", "solid", "cement"),
        ("Iron", "Fe", "26", "transition metals", "solid", "steel"),
        ("Copper", "Cu", "29", "transition metals", "solid", "wires"),
        ("Bromine", "Br", "35", "halogens", "liquid", "flame retardants"),
        ("Mercury", "Hg", "80", "transition metals", "liquid", "old thermometers"),
    )
    return Kind("element", relations, rows)


def _planets() -> Kind:
    relations = (
        "from the Sun is number",
        "is known for",
        "has a moon count of",
        "is",
        "circles the Sun in about",
    )
    rows = (
        ("Mercury", "1", "its many craters", "0", "the smallest planet", "88 days"),
        ("Venus", "2", "its thick hot clouds", "0", "slightly smaller than Earth", "225 days"),
        ("Earth", "3", "liquid oceans", "1", "the largest rocky planet", "365 days"),
        ("Mars", "4", "its red dust", "2", "about half as wide as Earth", "687 days"),
        ("Jupiter", "5", "the Great Red Spot", "over 90", "the largest planet", "12 years"),
        ("Saturn", "6", "its bright rings", "over 100", "the second largest planet", "29 years"),
        ("Uranus", "7", "its tilted axis", "over 25", "the third largest planet", "84 years"),
        ("Neptune", "8", "its strong winds", "over 10", "the fourth largest planet", "165 years"),
    )
    return Kind("planet", relations, rows)


def _particles() -> Kind:
    relations = (
        "has the charge",
        "is classed as a",
        "has the spin",
        "has the mass",
        "is linked to the physicist",
    )
    rows = (
        ("The electron", "-1", "lepton", "1/2", "0.511 MeV", "Thomson"),
        ("The muon", "-1", "lepton", "1/2", "106 MeV", "Anderson"),
        ("The neutrino", "0", "lepton", "1/2", "almost zero", "Pauli"),
        ("The proton", "+1", "baryon", "1/2", "938 MeV", "Rutherford"),
        ("The neutron", "0", "baryon", "1/2", "940 MeV", "Chadwick"),
        ("The photon", "0", "gauge boson", "1", "exactly zero", "Einstein"),
        ("The W boson", "+1 or -1", "gauge boson", "1", "80 GeV", "Rubbia"),
        ("The up quark", "+2/3", "quark", "1/2", "2 MeV", "Gell-Mann"),
        ("The down quark", "-1/3", "quark", "1/2", "5 MeV", "Zweig"),
        ("The Higgs boson", "0", "scalar boson", "0", "125 GeV", "Higgs"),
    )
    return Kind("particle", relations, rows)


def _organs() -> Kind:
    relations = (
        "has the main task to",
        "lies in the",
        "is part of the",
        "is made mostly of",
        "is treated in",
    )
    rows = (
        ("The heart", "pump blood", "chest", "circulatory system", "muscle", "cardiology"),
        (
            "The lung",
            "take up oxygen",
            "chest",
            "respiratory system",
            "tiny air sacs",
            "pulmonology",
        ),
        (
            "The liver",
            "make bile",
            "right upper belly",
            "digestive system",
            "lobules",
            "hepatology",
        ),
        ("The kidney", "filter blood", "lower back", "urinary system", "nephrons", "nephrology"),
        (
            "The stomach",
            "digest protein with acid",
            "left upper belly",
            "digestive system",
            "smooth muscle",
            "gastroenterology",
        ),
        ("The brain", "process signals", "skull", "nervous system", "neurons", "neurology"),
        (
            "The skin",
            "protect the body",
            "outer layer of the body",
            "integumentary system",
            "layered cells",
            "dermatology",
        ),
        (
            "The pancreas",
            "release insulin",
            "middle of the belly",
            "endocrine system",
            "gland tissue",
            "endocrinology",
        ),
        ("The eye", "sense light", "eye socket", "visual system", "clear tissue", "ophthalmology"),
        (
            "The bone marrow",
            "make blood cells",
            "hollow of bones",
            "skeletal system",
            "stem cells",
            "hematology",
        ),
    )
    return Kind("organ", relations, rows)


def _cells() -> Kind:
    relations = (
        "in the cell serves to",
        "is bounded by",
        "was named or described by",
        "is found in",
        "typically contains",
    )
    rows = (
        (
            "The nucleus",
            "store DNA",
            "an envelope with pores",
            "Brown",
            "all eukaryotes",
            "chromosomes",
        ),
        (
            "The mitochondrion",
            "make ATP",
            "a folded double membrane",
            "Benda",
            "nearly all eukaryotes",
            "respiratory enzymes",
        ),
        (
            "The chloroplast",
            "capture light",
            "an envelope around thylakoids",
            "Schimper",
            "plants and algae",
            "chlorophyll",
        ),
        ("The ribosome", "build proteins", "no membrane", "Palade", "every living cell", "RNA"),
        (
            "The lysosome",
            "digest waste",
            "a single membrane",
            "de Duve",
            "animal cells",
            "acid enzymes",
        ),
        (
            "The Golgi apparatus",
            "sort and ship proteins",
            "stacked membranes",
            "Golgi",
            "most eukaryotes",
            "vesicles",
        ),
        (
            "The cell wall",
            "give support",
            "no membrane",
            "Hooke",
            "plants and fungi",
            "cellulose or chitin",
        ),
        (
            "The vacuole",
            "hold water",
            "a single membrane",
            "Dujardin",
            "mature plant cells",
            "cell sap",
        ),
    )
    return Kind("cell structure", relations, rows)


def _units() -> Kind:
    relations = (
        "measures",
        "has the symbol",
        "is named after",
        "in base units is",
        "is read from a",
    )
    rows = (
        ("The newton", "force", "N", "Isaac Newton", "kg m/s^2", "spring scale"),
        ("The joule", "energy", "J", "James Joule", "kg m^2/s^2", "calorimeter"),
        ("The watt", "power", "W", "James Watt", "kg m^2/s^3", "wattmeter"),
        ("The pascal", "pressure", "Pa", "Blaise Pascal", "kg/(m s^2)", "barometer"),
        ("The volt", "voltage", "V", "Alessandro Volta", "kg m^2/(A s^3)", "voltmeter"),
        ("The hertz", "frequency", "Hz", "Heinrich Hertz", "1/s", "frequency counter"),
        ("The coulomb", "charge", "C", "Charles Coulomb", "A s", "electrometer"),
        ("The tesla", "magnetic field", "T", "Nikola Tesla", "kg/(A s^2)", "Hall probe"),
    )
    return Kind("unit", relations, rows)
