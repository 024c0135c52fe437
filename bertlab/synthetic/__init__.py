"""The synthetic corpus and its tasks: an invented, English-like world, generated from a seed.

    from bertlab import synthetic as microworld
    next(microworld.documents(1))
    microworld.rows("inference", "train")[0]

Documents state facts in several ways, and tasks require recognising whether two statements agree. Names of the
validation and test examples do not occur in training examples.
"""

from bertlab.synthetic.draw import VERSION
from bertlab.synthetic.stories import BYTES, DOCUMENTS, documents
from bertlab.synthetic.tasks import TASKS, Split, rows, version

__all__ = ["BYTES", "DOCUMENTS", "TASKS", "VERSION", "Split", "documents", "rows", "version"]
