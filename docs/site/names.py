"""A Sphinx extension: where a page names something that a header declares, it links to the declaration."""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

LOGGER = logging.getLogger(__name__)
NAME = re.compile(r"\b(?:dlpark_|DLPARK_|DL|kDL)\w+(?:\(\))?")
NOT_IN = (nodes.reference, nodes.title, nodes.literal_block, nodes.raw, addnodes.desc_signature, addnodes.toctree)


class LinkNames(SphinxPostTransform):
    default_priority = 900

    def run(self, **options):
        places = {name: (page, anchor) for name, _, _, page, anchor, _ in self.env.domains["c"].get_objects()}
        for text in list(self.document.findall(nodes.Text)):
            if not NAME.search(text) or any(isinstance(node, NOT_IN) for node in ancestors(text)):
                continue
            if isinstance(text.parent, nodes.literal):
                self.literal(text, places)
            else:
                text.parent.replace(text, list(self.split(text, places)))

    def literal(self, text, places):
        """The whole of an inline literal, where that is a name alone."""
        match = NAME.fullmatch(text)
        link = match and self.link(match[0], places, text.parent.deepcopy())
        if link:
            text.parent.parent.replace(text.parent, link)
        elif re.fullmatch(r"dlpark_(?!_)\w+\(\)", text):
            LOGGER.warning("no header declares %s", text, location=text.parent)

    def split(self, text, places):
        end = 0
        for match in NAME.finditer(text):
            link = self.link(match[0], places, nodes.Text(match[0]))
            if link:
                yield nodes.Text(text[end : match.start()])
                yield link
                end = match.end()
        yield nodes.Text(text[end:])

    def link(self, name, places, shown):
        page, anchor = places.get(name.removesuffix("()"), (None, None))
        return page and make_refnode(self.app.builder, self.env.current_document.docname, page, anchor, shown)


def ancestors(node):
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app):
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
