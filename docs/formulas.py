"""Formulas as MathML, written by the converter of docutils: browsers draw it themselves, nothing is loaded or run."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

INDEX_BELOW = re.compile(
    r"<munderover>\s*(<mi>[^<]*</mi>)\s*(<m[in]>[^<]*</m[in]>)\s*(<mtext>[˙¨]</mtext>)\s*</munderover>"
)


def mathml(text: str, as_block: bool) -> str:
    """The formula; names of functions get room, dots stand above letters and an index beside them."""
    written: str = tex2mathml(text, as_block=as_block)
    written = re.sub(r"<mo[^>]*>([˙¨])</mo>", r"<mtext>\1</mtext>", written.replace(' accent="true"', ""))
    written = INDEX_BELOW.sub(r"<msub><mover>\1\3</mover>\2</msub>", written)
    return re.sub(r"<mi>(sin|cos)</mi>", r'<mo form="prefix" lspace="0.17em" rspace="0.17em">\1</mo>', written)


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    text = node.astext()
    if "\\\\" in text and "\\begin" not in text:
        text = rf"\begin{{align*}}{text}\end{{align*}}"
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    anchor = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="formula"{anchor}>{number}{mathml(text, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
