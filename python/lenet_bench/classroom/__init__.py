"""A lesson: the page and, behind it, every backend that runs here, live."""

from . import engines
from .engines import Engines
from .live import Live, installed
from .server import serve
