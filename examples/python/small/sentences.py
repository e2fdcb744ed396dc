"""Sentences of four topics, put together from parts."""

import itertools
import random

# For each topic who does what, and when or where.
PARTS = {
    "weather": (
        ["The rain", "A cold wind", "The morning fog", "Heavy snow", "A thunderstorm", "The first frost"],
        ["came over the hills", "is expected", "will reach the coast", "covered the valley", "slowly moved east", "surprised the forecasters"],
        ["before noon.", "on Thursday.", "with clouds and low pressure.", "after a week of sun.", "during the night."],
    ),
    "cooking": (
        ["Our baker", "My grandmother", "The new chef", "Her uncle", "The whole family", "A hungry student"],
        ["kneads the dough", "fries onions in butter", "bakes a plum cake", "seasons the soup", "peels potatoes", "tastes the sauce"],
        ["in a large pan.", "with salt and thyme.", "until it is golden.", "for dinner.", "beside the hot oven."],
    ),
    "music": (
        ["The violinist", "A young pianist", "The choir", "Our quartet", "The drummer", "An old organist"],
        ["practises a sonata", "plays the slow movement", "tunes the strings", "sings in harmony", "repeats the refrain", "improvises on a theme"],
        ["in the concert hall.", "from the score.", "without a conductor.", "in a minor key.", "for a quiet audience."],
    ),
    "sailing": (
        ["The skipper", "A crew of four", "The old schooner", "Her dinghy", "The harbour pilot", "Two sailors"],
        ["hoists the mainsail", "tacks against the tide", "drops anchor", "rounds the buoy", "reefs the jib", "steers for the lighthouse"],
        ["off the island.", "in the narrow channel.", "near the pier.", "with the keel aground.", "before the regatta."],
    ),
}


def labelled(seed=0):
    """All pairs of topic and sentence, 720 of them, in an order drawn from the seed."""
    pairs = [(topic, " ".join(parts)) for topic, lists in PARTS.items() for parts in itertools.product(*lists)]
    random.Random(seed).shuffle(pairs)
    return pairs
