"""The page that computes, in a real browser: what hands change there is what `simulate` computes with these values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import ARGUMENTS, CHROMIUM, FIREFOX, Firefox, Tab

import linkwork
from linkwork import Trajectory
from linkwork.document import parse
from linkwork.view.page import built, write
from linkwork.web.program import program

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

pytestmark = [
    pytest.mark.skipif(not built(), reason="the viewer is not built: make viewer"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]


class Page(Tab):
    """A live page."""

    def __init__(self, tab: Any, address: str) -> None:
        super().__init__(tab, address, ".live")

    def settle(self) -> None:
        """Wait until what was asked for is computed and drawn."""
        super().settle()
        while not self.tab.evaluate("live.isSettled"):
            super().settle()

    def do(self, script: str) -> Any:
        found = self.tab.evaluate(f"(() => {{ const v = window.linkwork, page = window.live; return {script}; }})()")
        self.settle()
        return found

    def column(self, name: str) -> np.ndarray:
        return np.array(self.do(f"[...v.results[0].quantities.get({json.dumps(name)}).values]"))

    def where(self, name: str) -> np.ndarray:
        return np.array(self.do(f"v.where({json.dumps(name)})"))

    def drag(self, start: np.ndarray, end: np.ndarray) -> None:
        self.tab.mouse.move(*start)
        self.tab.mouse.down()
        self.tab.mouse.move(*end, steps=4)
        self.settle()
        self.tab.mouse.up()
        self.settle()

    def press(self, name: str) -> None:
        self.tab.locator(".live").get_by_role("button", name=name, exact=True).click()
        self.settle()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def written(name: str, folder: Path, driven: bool = False) -> Path:
    model = linkwork.load(name)
    motion = (linkwork.kinematics if driven else linkwork.simulate)(model, t_end=4.0)
    made = program(replace(model, simulation=model.simulation.changed(4.0)), driven, hands=True)
    write([motion], folder / "live.html", live=made)
    return folder / "live.html"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written("four_bar", tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def opened(browser: Any, file: Path) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light", offline=True)
    yield Page(context.new_page(), file.as_uri())
    context.close()


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    """The four-bar as its model has it, at its start."""
    yield opened
    opened.do("page.play ? page.playOn(false) : 0")
    opened.do("page.reset()")
    opened.do("v.setTime(0)")
    assert opened.said == []


def compared(page: Page, expected: Trajectory) -> None:
    for name in ("crank.phi", "rocker.omega", "coupler.P.x", "reaction:B.x"):
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(page.column(name), expected[name], atol=1e-6 * size, err_msg=name)


def test_the_page_needs_nothing_but_itself(page: Page, file: Path) -> None:
    """Opened from a disk without a network it asks for nothing, and its policy lets it compile, not evaluate, code."""
    assert page.asked == [file.as_uri()]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', file.read_text(encoding="utf-8"))
    assert policy
    (scripts,) = (part for part in policy[1].split("; ") if part.startswith("script-src"))
    assert re.fullmatch(r"script-src 'wasm-unsafe-eval' 'sha256-[^' ]*'", scripts)
    tried = (
        'new Promise((done) => { setTimeout("window.hacked = 1"); setTimeout(() => done(typeof window.hacked), 50); })'
    )
    assert page.tab.evaluate(tried) == "undefined"
    assert all("Content Security Policy" in text for text in page.said)
    page.said.clear()
    compared(page, linkwork.simulate(linkwork.load("four_bar"), t_end=4.0))


def test_a_slider_changes_the_motion_the_plots_and_the_drawing(page: Page) -> None:
    """By its keys: the motion is that of `simulate` at the value beside the slider, the pin lies where it says."""
    slider = page.tab.get_by_label("b", exact=True)
    slider.focus()
    page.tab.keyboard.press("PageUp")
    page.settle()
    b = page.do("page.engine.get('b')")
    assert b > 2.6
    assert page.tab.get_by_label("b, number", exact=True).input_value() == f"{b:g}"
    expected = linkwork.simulate(linkwork.load("four_bar", {"b": b}), t_end=4.0)
    compared(page, expected)
    scale = np.diff([page.where("ground.O")[0], page.where("ground.C")[0]])[0] / page.do("page.engine.get('d')")
    row = len(expected.t) // 3
    page.do(f"v.setTime({expected.t[row]})")
    at = np.array([expected["coupler.B.x"][row], -expected["coupler.B.y"][row]])
    np.testing.assert_allclose(page.where("coupler.B"), page.where("ground.O") + scale * at, atol=0.5)
    np.testing.assert_allclose(page.where("rocker.B"), page.where("coupler.B"), atol=0.5)  # of both that it joins
    facts = page.tab.inner_text(".facts")
    assert "finished" in facts
    assert re.search(r"\|Psi\| ≤ [\d.]+e-1\d", facts)
    assert page.do("v.results[0].others.length") == 1  # the run before, in grey


@pytest.mark.slow
def test_a_number_is_typed(page: Page) -> None:
    field = page.tab.get_by_label("c, number", exact=True)
    field.fill("2,25")
    field.press("Enter")
    page.settle()
    compared(page, linkwork.simulate(linkwork.load("four_bar", {"c": 2.25}), t_end=4.0))
    field.fill("wide")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    assert page.do("page.engine.get('c')") == 2.25


def test_a_parameter_is_shown_in_the_unit_in_which_it_was_written(browser: Any, tmp_path: Path) -> None:
    """A quantity of another kind is refused, a number without a unit is in that of the parameter."""
    m = linkwork.PlanarModel("arm", l="400 mm", n="30 rpm")
    m.fix(O=(0, 0))
    arm = m.body("arm", mass="2 kg", inertia=0.1, position=("l/2", 0), angular_velocity="n", points={"O": ("-l/2", 0)})
    m.revolute("O", m.ground, arm)
    m.live_page(t_end=1).save(tmp_path / "arm.html")
    context = browser.new_context(offline=True)
    page = Page(context.new_page(), (tmp_path / "arm.html").as_uri())
    field = page.tab.get_by_label("l, number", exact=True)
    assert field.input_value() == "400"
    assert [*page.tab.locator(".knob small").all_inner_texts()][:2] == ["mm", "rpm"]
    for text, length in (("350", 0.35), ("3 kg", 0.35), ("0.25 m", 0.25), ("2 rad", 0.25)):
        field.fill(text)
        field.press("Enter")
        page.settle()
        assert page.do("page.engine.get('l')") == pytest.approx(length, rel=1e-15)
    assert page.do("page.lines()") == "parameters:\n  l: 250 mm\n"
    assert page.said == []
    context.close()


@pytest.mark.slow
def test_a_ground_pin_is_dragged_along_what_its_formula_lets_it(page: Page) -> None:
    """C = (d, 0): d follows the pointer, and nothing else changes."""
    start = page.where("ground.C")
    scale = (start[0] - page.where("ground.O")[0]) / 2.2
    page.drag(start, start + np.array([33, -20]))
    d = page.do("page.engine.get('d')")
    assert d == pytest.approx(2.2 + 33 / scale, abs=1.0 / scale)
    assert page.do("[...page.values().keys()]") == ["d"]
    compared(page, linkwork.simulate(linkwork.load("four_bar", {"d": d}), t_end=4.0))


@pytest.mark.slow
def test_a_moving_pin_is_dragged_to_where_the_motion_starts(page: Page) -> None:
    """The crank points to the pointer at the start, and the loop is closed."""
    start, origin = page.where("crank.A"), page.where("ground.O")
    page.drag(start, start + np.array([-50, 12]))
    phi = page.column("crank.phi")[0]
    way = start + np.array([-50, 12]) - origin
    assert phi == pytest.approx(np.arctan2(-way[1], way[0]), abs=0.02)
    assert page.column("error:position").max() < 1e-12
    assert page.column("coupler.A.x")[0] == pytest.approx(page.column("crank.A.x")[0], abs=1e-12)


@pytest.mark.slow
def test_a_moving_pin_is_dragged_to_change_lengths(page: Page) -> None:
    """With lengths chosen, A keeps its direction seen from O, and a becomes the distance of the pointer."""
    page.tab.locator(".lengths input").click()
    start, origin = page.where("crank.A"), page.where("ground.O")
    page.drag(start, start + 0.3 * (start - origin))
    page.tab.locator(".lengths input").click()
    assert page.do("[...page.values().keys()]") == ["a"]
    a = page.do("page.engine.get('a')")
    assert 1.1 < a < 1.4
    compared(page, linkwork.simulate(linkwork.load("four_bar", {"a": a}), t_end=4.0))


def test_the_page_says_which_joint_stays_open(page: Page) -> None:
    """A crank of 10 m cannot be joined; the picture stays, and goes on as soon as it can."""
    before = page.column("crank.phi")
    page.do("page.set('a', 10)")
    said = page.tab.inner_text(".banner")
    assert re.search(r"'[OABC]' stays open by [\d.]+ m", said)
    assert page.tab.locator(".labels .trouble").count() > 0
    np.testing.assert_array_equal(page.column("crank.phi"), before)
    page.do("page.set('a', 1)")
    assert page.tab.locator(".banner").is_hidden()
    assert page.tab.locator(".labels .trouble").count() == 0


@pytest.mark.slow
def test_a_motion_plays_on_and_is_pulled(page: Page) -> None:
    """Beyond its end, drawn towards the pointer; without gravity and with damping it comes to rest."""
    page.do("v.setSpeed(10)")
    page.press("Play on")
    while page.do("v.time") < 4.5:
        assert page.tab.locator(".banner").is_hidden()
    assert page.do("page.play.gravity")
    page.tab.locator(".live").get_by_role("button", name="Gravity").click()
    page.tab.locator(".live").get_by_role("button", name="Damping").click()
    began = page.do("v.time")
    while page.do("v.time") < began + 12.0:
        pass
    assert abs(page.do("page.play.value('crank.omega')")) < 1e-2
    assert page.do("page.play.value('error:position')") < 1e-10
    start, origin = page.where("crank.A"), page.where("ground.O")
    way = start - origin
    to = origin + 1.2 * np.array([way[1], -way[0]])
    page.tab.mouse.move(*start)
    page.tab.mouse.down()
    page.tab.mouse.move(*to, steps=3)
    held = page.do("v.time")
    while page.do("v.time") < held + 7.0:
        pass
    turned = page.where("crank.A") - origin
    page.tab.mouse.up()
    assert turned @ (to - origin) > 0.5 * np.linalg.norm(turned) * np.linalg.norm(to - origin)
    page.do("v.setSpeed(1)")


def test_a_link_and_lines_carry_the_values(page: Page, browser: Any, file: Path) -> None:
    """The address opens the same motion; so do the lines, put into the model file. A hostile address is passed over."""
    page.do("page.set('b', 2.7)")
    page.do("page.set('crank.omega', -0.8)")
    page.do("page.settle()")
    lines = page.do("page.lines()")
    given = parse(lines, "lines").data
    assert given == {"parameters": {"b": 2.7}, "simulation": {"rate": {"crank.phi": -0.8}}}
    own = page.column("crank.phi")
    context = browser.new_context(offline=True)
    address = page.tab.evaluate("location.href") + "&__proto__=1&%3Cimg%20src=x%3E=2&b=nonsense"
    other = Page(context.new_page(), address)
    np.testing.assert_array_equal(other.column("crank.phi"), own)
    assert other.said == []
    context.close()
    expected = linkwork.simulate(linkwork.load("four_bar"), {"b": 2.7}, start={"crank.omega": -0.8}, t_end=4.0)
    np.testing.assert_allclose(own, expected["crank.phi"], atol=1e-6)


@pytest.mark.slow
def test_a_pinned_run_stays_and_a_table_is_saved(page: Page, tmp_path: Path) -> None:
    page.press("Pin")
    pinned = page.column("crank.phi")
    page.do("page.keepBefore()")
    page.do("page.set('c', 2.3)")
    np.testing.assert_array_equal(page.do("[...v.results[0].others[0].quantities.get('crank.phi').values]"), pinned)
    page.press("Pin")
    assert page.do("v.results[0].others.length") == 0
    with page.tab.expect_download() as begun:
        page.press("CSV")
    begun.value.save_as(tmp_path / "motion.csv")
    heads = (tmp_path / "motion.csv").read_text().split("\n")[0].split(",")
    table = np.loadtxt(tmp_path / "motion.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, heads.index("crank.phi [rad]")], page.column("crank.phi"))


@pytest.mark.slow
def test_a_driven_crank_is_turned_by_hand(browser: Any, tmp_path: Path) -> None:
    """A pin that is pulled along its circle goes to the time at which it is there, both ways."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, offline=True)
    page = Page(context.new_page(), written("slider_crank_driven", tmp_path, driven=True).as_uri())
    crank = "crank.A"
    page.do("v.setTime(1.0)")
    middle = page.do("v.time")
    places = {}
    for t in (0.9, 1.1):
        page.do(f"v.setTime({t})")
        places[t] = page.where(crank)
    for t in (1.1, 0.9):
        page.do(f"v.setTime({middle})")
        page.drag(page.where(crank), places[t])
        assert page.do("v.time") == pytest.approx(t, abs=0.02)
    page.do("v.setTime(0)")
    origin, pin = page.where("ground.O"), page.where(crank)
    for angle in np.arange(0.1, 1.5, 0.1):  # back, as screens count angles downwards
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        page.tab.mouse.move(*(pin if angle < 0.15 else page.where(crank)))
        page.tab.mouse.down()
        page.tab.mouse.move(*(origin + turn @ (pin - origin)), steps=3)
        page.settle()
        page.tab.mouse.up()
    speed = page.do("page.engine.get('speed')")
    assert page.do("v.time") == pytest.approx(-1.4 / speed, abs=0.02 / speed)
    assert not page.do("v.playing")
    assert page.said == []
    context.close()


@pytest.mark.slow
@pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox: apt-get install firefox-esr")
def test_the_page_computes_the_same_in_firefox(file: Path, opened: Page, tmp_path: Path) -> None:
    """To the last bit what Chromium computes, as written and with another length; it does so without WebGL too."""
    columns = "[...v.results[0].quantities.values()].map((x) => [x.name, Array.from(x.values)])"
    assert FIREFOX
    firefox = Firefox(FIREFOX, tmp_path)
    try:
        firefox.open(file.as_uri())
        for b in (2.5, 2.65):
            opened.do(f"page.set('b', {b})")
            firefox.evaluate(f"live.set('b', {b})")
            while not firefox.evaluate("live.isSettled"):
                firefox.evaluate("new Promise(requestAnimationFrame)")
            found = firefox.evaluate(columns.replace("v.results", "linkwork.results"))
            assert found == opened.do(columns)
            assert len(found) > 100
    finally:
        firefox.close()
        opened.do("page.reset()")


@pytest.mark.slow
def test_hostile_names_are_only_names_where_the_page_computes(browser: Any, tmp_path: Path) -> None:
    """Of parameters, bodies and joints, on sliders, in curves, and in what is said of a joint that stays open."""
    hostile = "</script><img src=x onerror=hacked=1><!--"
    model = linkwork.load("four_bar")
    made, motion = program(model, hands=True), linkwork.simulate(model, t_end=1.0)
    quoted = json.dumps(hostile)[1:-1]
    about = (
        json.dumps(dict(made.about))
        .replace('"b"', f'"{quoted}"')
        .replace("rocker", quoted)
        .replace('"B"', f'"{quoted}"')
    )
    write([motion], tmp_path / "page.html", live=replace(made, about=json.loads(about)))
    page = Page(browser.new_page(), (tmp_path / "page.html").as_uri())
    assert page.tab.get_by_label(hostile, exact=True).count() == 1
    page.do(f"page.set({json.dumps(hostile)}, 30)")
    assert hostile in page.tab.inner_text(".banner")
    page.press("Pin")
    assert page.tab.evaluate("[typeof window.hacked, document.images.length]") == ["undefined", 0]
    assert page.said == []
    page.tab.close()
