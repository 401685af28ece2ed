"""The studio in a real browser: the text and the picture follow each other, and the file holds what is seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import ARGUMENTS, CHROMIUM, FIREFOX, Firefox, Tab

import linkwork
from linkwork.mechanisms import MECHANISMS
from linkwork.studio.folder import open_folder
from linkwork.studio.server import BUNDLE, Studio

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BUNDLE.exists(), reason="the studio is not built: make viewer"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
FOUR_BAR = (MECHANISMS / "four_bar.yaml").read_text(encoding="utf-8")
HOSTILE = "<img src=x onerror=hacked=1>"
PATIENCE = 60_000  # milliseconds for a page on a busy machine
LOOK = 20


class Page(Tab):
    """A studio in the browser."""

    def __init__(self, tab: Any, studio: Studio) -> None:
        self.studio, self.folder = studio, studio.folder.place
        tab.add_init_script("window.hacked = 0")
        super().__init__(tab, studio.address, ".cm-content")

    def until(self, condition: str) -> None:
        for _ in range(PATIENCE // LOOK):
            if self.tab.evaluate(condition):
                return
            self.tab.wait_for_timeout(LOOK)
        raise AssertionError(f"never: {condition}; {self.tab.inner_text('body')[:2000]}")

    def settle(self) -> None:
        """Wait until the last text has been answered and is drawn."""
        super().settle()
        self.until("Boolean(window.studio) && studio.isSettled")
        super().settle()

    @property
    def text(self) -> str:
        return str(self.tab.evaluate("studio.editor.text"))

    def put_cursor(self, behind: str) -> None:
        at = self.text.index(behind) + len(behind)
        self.tab.evaluate(f"studio.editor.view.dispatch({{selection: {{anchor: {at}}}}}), studio.editor.view.focus()")

    def type(self, text: str) -> None:
        self.tab.keyboard.type(text)
        self.settle()

    def press(self, name: str) -> None:
        self.tab.get_by_role("button", name=name, exact=True).first.click()
        self.settle()

    def where(self, name: str) -> np.ndarray:
        return np.array(self.tab.evaluate(f"studio.picture.viewer.where('{name}')"))

    def click(self, x: float, y: float) -> None:
        """Click a place of the plane."""
        at = self.tab.evaluate(f"studio.picture.stage.project([{x}, {y}, 0])")
        box = self.tab.locator(".stage .host").bounding_box()
        self.tab.mouse.click(box["x"] + at[0], box["y"] + at[1])
        self.settle()

    def drag(self, start: np.ndarray, by: tuple[float, float], rest: int = 0) -> None:
        """Drag in six steps, with a rest of some milliseconds after each."""
        self.tab.mouse.move(*start)
        self.tab.mouse.down()
        for part in range(1, 7):
            self.tab.mouse.move(*(start + np.array(by) * part / 6))
            self.tab.wait_for_timeout(rest)
        self.tab.mouse.up()
        self.settle()

    def column(self, name: str) -> np.ndarray:
        return np.array(self.tab.evaluate(f"[...studio.picture.viewer.results[0].quantities.get('{name}').values]"))

    def file(self, name: str = "model.yaml") -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[[str | None], Page]]:
    """Open a studio on a file with this text, or on nothing."""
    made: list[tuple[Studio, threading.Thread, Any]] = []

    def begin(text: str | None) -> Page:
        if text is not None:
            (tmp_path / "model.yaml").write_text(text, encoding="utf-8")
        folder, name, given = open_folder(None if text is None else str(tmp_path / "model.yaml"), tmp_path)
        studio = Studio(folder, name, given, {"check": [], "run": []})
        thread = threading.Thread(target=studio.serve_forever)
        thread.start()
        context = browser.new_context(viewport={"width": 1400, "height": 860}, color_scheme="light")
        made.append((studio, thread, context))
        return Page(context.new_page(), studio)

    yield begin
    for studio, thread, context in made:
        context.close()
        if thread.is_alive():
            studio.shutdown()
        studio.end()
        thread.join()


def test_what_is_typed_moves_the_picture(opened: Callable[[str | None], Page]) -> None:
    """Another number changes the motion, a fault is told at its line, and the picture of before stays meanwhile."""
    page = opened(FOUR_BAR)
    page.put_cursor("b: 2.5")
    page.tab.keyboard.press("Backspace")
    page.type("6")
    expected = linkwork.simulate(linkwork.load("four_bar", {"b": 2.6}))
    np.testing.assert_allclose(page.column("crank.phi"), expected["crank.phi"], atol=1e-6)
    page.put_cursor("j: coupler")
    page.type("s")
    line = 1 + page.text[: page.text.index("couplers")].count("\n")
    assert page.tab.inner_text(".faults").split("\n")[0].strip().startswith(str(line))
    assert "did you mean 'coupler'" in page.tab.inner_text(".faults")
    assert page.tab.locator(".cm-lintRange-error").inner_text() == "couplers.A"
    np.testing.assert_allclose(page.column("crank.phi"), expected["crank.phi"], atol=1e-6)
    page.tab.keyboard.press("Backspace")
    page.settle()
    assert page.tab.inner_text(".faults") == ""
    page.tab.keyboard.press("Control+s")
    page.until("document.querySelector('.file').textContent === 'model.yaml'")
    assert page.file() == FOUR_BAR.replace("b: 2.5 m", "b: 2.6 m")
    assert page.said == []


def test_what_is_dragged_is_written_in_one_step(opened: Callable[[str | None], Page]) -> None:
    """C = (d, 0) moves by d and by its zero; one undo brings all of it back, and the picture follows."""
    page = opened(FOUR_BAR)
    scale = (page.where("ground.C")[0] - page.where("ground.O")[0]) / 2.2
    page.drag(page.where("ground.C"), (33.0, -8.0))
    d, y = (page.tab.evaluate(f"studio.picture.live.engine.get('{name}')") for name in ("d", "ground.points.C.1"))
    assert (d - 2.2, y) == pytest.approx((33 / scale, 8 / scale), abs=1.5 / scale)
    assert page.text == FOUR_BAR.replace("d: 2.2 m", f"d: {d:g} m").replace("C: [d, 0]", f"C: [d, {y:g}]")
    page.press("Undo")
    assert page.text == FOUR_BAR
    assert page.tab.evaluate("studio.picture.live.engine.get('d')") == 2.2
    page.drag(page.where("crank.A"), (-30.0, 0.0))
    assert "simulation: {t_end: 10, step: 0.01, start: {crank.phi: " in page.text
    assert page.column("crank.phi")[0] == pytest.approx(
        linkwork.simulate(linkwork.loads(page.text), t_end=0.1)["crank.phi"][0]
    )


def test_a_slow_hand_keeps_what_it_holds(opened: Callable[[str | None], Page]) -> None:
    """The start that is written while a crank is dragged makes another structure, whose picture waits for the hand."""
    page = opened(FOUR_BAR)
    place = page.where("crank.A")
    page.drag(place, (-60.0, 0.0), rest=600)
    assert page.where("crank.A")[0] == pytest.approx(place[0] - 60, abs=3)
    start = linkwork.simulate(linkwork.loads(page.text), t_end=0.1)["crank.phi"][0]
    assert page.column("crank.phi")[0] == pytest.approx(start)
    page.put_cursor("a: 1")
    page.type(".2")
    assert page.tab.evaluate("studio.picture.live.engine.get('a')") == 1.2


def test_a_file_that_changes_on_the_disk_is_loaded_or_both_are_kept(opened: Callable[[str | None], Page]) -> None:
    page = opened(FOUR_BAR)
    theirs = FOUR_BAR.replace("c: 2 m", "c: 2.1 m")
    (page.folder / "model.yaml").write_text(theirs)
    page.until("studio.editor.text.includes('c: 2.1 m')")
    page.settle()
    assert page.tab.evaluate("studio.picture.live.engine.get('c')") == 2.1
    page.put_cursor("a: 1")
    page.type(".1")
    mine = page.text
    theirs = theirs.replace("2.1 m", "2.3 m")
    (page.folder / "model.yaml").write_text(theirs)
    page.until("document.querySelector('.notice').innerText.includes('changed on the disk, and here too')")
    assert (page.text, page.file()) == (mine, theirs)
    page.press("Keep mine")
    page.until("document.querySelector('.notice').innerText.includes('kept in')")
    assert (page.file(), page.file("model-1.yaml")) == (mine, theirs)
    page.put_cursor("a: 1.1")
    page.type("5")
    mine = page.text
    (page.folder / "model.yaml").write_text(theirs)
    page.until("document.querySelector('.notice').innerText.includes('here too')")
    page.press("Load the file")
    assert page.text == theirs
    page.press("Undo")
    assert page.text == mine


def test_a_studio_that_has_ended_leaves_the_text(opened: Callable[[str | None], Page], tmp_path: Path) -> None:
    """The page says so, and what has been typed can be taken along."""
    page = opened(FOUR_BAR)
    page.studio.shutdown()
    page.studio.server_close()
    page.put_cursor("b: 2.5")
    page.tab.keyboard.type("5")
    page.until("document.querySelector('.notice').innerText.includes('has ended')")
    with page.tab.expect_download() as begun:
        page.tab.get_by_role("button", name="Download the text").click()
    begun.value.save_as(tmp_path / "rescued.yaml")
    assert (tmp_path / "rescued.yaml").read_text() == FOUR_BAR.replace("b: 2.5", "b: 2.55")


def test_a_text_that_is_no_model_yet_becomes_one(opened: Callable[[str | None], Page]) -> None:
    """The fault stands at its line, the place of the picture says what it waits for, and mending brings the picture."""
    page = opened(FOUR_BAR.replace("bodies:", "bodies: ]"))
    assert "drawn here when its text is a model" in page.tab.inner_text(".status")
    line = 1 + page.text[: page.text.index("bodies: ]")].count("\n")
    assert page.tab.inner_text(".faults").split("\n")[0].strip() == str(line)
    page.put_cursor("bodies: ]")
    page.tab.keyboard.press("Backspace")
    page.settle()
    assert page.tab.locator(".status").is_hidden()
    expected = linkwork.simulate(linkwork.loads(page.text))
    np.testing.assert_allclose(page.column("crank.phi"), expected["crank.phi"], atol=1e-6)


def test_pictures_that_were_replaced_are_let_go(opened: Callable[[str | None], Page]) -> None:
    """Each other structure is another picture; however many there were, only the last ones are held."""
    page = opened(FOUR_BAR)
    memory = page.tab.context.new_cdp_session(page.tab)
    held = []
    for k in range(6):
        page.tab.evaluate(f"studio.editor.replace({FOUR_BAR!r}.replace('t_end: 10', 't_end: {1 + k % 2}'))")
        page.settle()
        memory.send("HeapProfiler.collectGarbage")
        held.append(memory.send("Memory.getDOMCounters")["nodes"])
    assert held[5] <= held[3]


def test_a_slider_writes_its_parameter_in_its_unit(opened: Callable[[str | None], Page]) -> None:
    page = opened(FOUR_BAR)
    for name, value, before, after in (
        ("rho", 1.5, "rho: 1 kg/m", "rho: 1.5 kg/m"),
        ("start", 0.5, "60 deg", "28.6 deg"),
    ):
        page.tab.evaluate(f"studio.picture.live.set('{name}', {value}), studio.picture.live.settle()")
        page.settle()
        assert after in page.text
        assert before not in page.text


DRAWN = """\
linkwork: 1
name: sketch
gravity: [0, -9.81]
parameters: {speed: 30 rpm}
ground: {points: {A: [-0.5, -0.3], B: [0.6, -0.3]}}
bodies:
  link1: {mass: 0.316, inertia: 0.00264, mass_centre: [-0.45, -0.15],
          points: {A: [-0.5, -0.3], C: [-0.4, 0]}}
  link2: {mass: 2.2, inertia: 0.206, mass_centre: [-0.03, 0.36],
          points: {C: [-0.4, 0], D: [0.4, 0.5], P: [0, 0.7]}}
  link3: {mass: 0.825, inertia: 0.0467, mass_centre: [0.5, 0.1],
          points: {D: [0.4, 0.5], B: [0.6, -0.3]}}
joints:
  A: {type: revolute, i: ground.A, j: link1.A}
  C: {type: revolute, i: link1.C, j: link2.C}
  D: {type: revolute, i: link2.D, j: link3.D}
  B: {type: revolute, i: ground.B, j: link3.B}
drivers:
  motor: {joint: A, motion: speed*t}
"""


def test_a_four_bar_is_drawn_from_nothing(opened: Callable[[str | None], Page]) -> None:
    """Pins, links, a coupler point and a motor; a pin is dragged; the file moves as the page does.

    Bars weigh a kilogram a metre, about their middles: those of the link A C, 0.316 m long, and of the triangle C D P.
    """
    page = opened(None)
    drawing: list[tuple[str, list[tuple[float, float]]]] = [
        ("Ground pin", [(-0.5, -0.3), (0.6, -0.3)]),
        ("Link", [(-0.5, -0.3), (-0.4, 0.0), (-0.4, 0.0), (0.4, 0.5), (0.4, 0.5), (0.6, -0.3)]),
        ("Point", [(0.0, 0.25), (0.0, 0.7)]),
        ("Motor", [(-0.5, -0.3)]),
    ]
    for tool, places in drawing:
        page.press(tool)
        for place in places:
            page.click(*place)
        assert all(page.tab.locator(".toolbar > button").all_inner_texts())
    assert page.text == DRAWN
    page.press("Undo")
    assert "drivers" not in page.text
    page.press("Redo")
    page.press("Move")
    metres = page.tab.evaluate("studio.picture.stage.view.metres")
    page.drag(page.where("ground.B"), (40.0, 10.0))
    b = linkwork.loads(page.text).ground.points["B"]
    assert (b[0], b[1]) == pytest.approx((0.6 + 40 * metres, -0.3 - 10 * metres), abs=2 * metres)
    changed = [k for k, (x, y) in enumerate(zip(DRAWN.split("\n"), page.text.split("\n"), strict=True)) if x != y]
    assert changed == [4, 10, 11]  # the ground and the rocker, with what it weighs
    page.press("Save")
    page.tab.get_by_label("file name").fill("../drawn")  # refused, and asked for again
    page.tab.keyboard.press("Enter")
    page.until("document.querySelector('.notice').textContent.includes('looks like a path')")
    page.press("Save")
    page.tab.get_by_label("file name").fill("drawn")
    page.tab.keyboard.press("Enter")
    page.until("document.querySelector('.file').textContent === 'drawn.yaml'")
    assert page.file("drawn.yaml") == page.text
    expected = linkwork.kinematics(linkwork.load(page.folder / "drawn.yaml"))
    for name in ("link2.P.x", "link2.P.y", "link3.omega", "reaction:A.x"):
        np.testing.assert_allclose(page.column(name), expected[name], atol=1e-9 + 1e-9 * np.abs(expected[name]).max())
    assert page.said == []


def test_sliders_and_springs_are_drawn(opened: Callable[[str | None], Page]) -> None:
    """A crank with a rod and a block on a horizontal rail, held by a spring from the ground."""

    def part(start: str, end: str) -> str:
        return DRAWN[DRAWN.index(start) : DRAWN.index(end)]

    bodies = part("ground", "  link3").replace(", P: [0, 0.7]", "")
    page = opened(part("linkwork", "parameters") + bodies + part("joints", "  D:"))
    page.press("Slider")
    for place in ((0.4, 0.5), (0.9, 0.51)):
        page.click(*place)
    model = linkwork.loads(page.text)
    assert linkwork.check(model).dof == 1
    assert [type(joint).__name__ for joint in model.joints] == ["Revolute", "Revolute", "Revolute", "Prismatic"]
    page.press("Spring")
    for place in ((-0.4, 0.0), (-0.4, 0.6)):
        page.click(*place)
    assert "free_length: 0.6" in page.text
    assert page.tab.inner_text(".faults") == ""
    expected = linkwork.simulate(linkwork.loads(page.text))
    np.testing.assert_allclose(page.column("slider1.x"), expected["slider1.x"], atol=1e-5)
    assert page.said == []


@pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox: apt-get install firefox-esr")
def test_the_studio_in_firefox(tmp_path: Path) -> None:
    """Another number and another structure, in a browser without WebGL."""
    (tmp_path / "model.yaml").write_text(FOUR_BAR)
    (tmp_path / "profile").mkdir()
    studio = Studio(*open_folder(str(tmp_path / "model.yaml"), tmp_path), {})
    thread = threading.Thread(target=studio.serve_forever)
    thread.start()
    assert FIREFOX
    firefox = Firefox(FIREFOX, tmp_path / "profile")
    try:
        firefox.open(studio.address)
        text, last = FOUR_BAR, "studio.picture.viewer.results[0].t.at(-1)"
        for before, after in (("b: 2.5", "b: 2.7"), ("t_end: 10", "t_end: 2")):
            text = text.replace(before, after)
            while not firefox.evaluate("Boolean(window.studio && studio.isSettled)"):
                firefox.evaluate("new Promise(requestAnimationFrame)")
            firefox.evaluate(f"studio.editor.replace({text!r})")
        while not firefox.evaluate(f"studio.isSettled && {last} === 2"):
            firefox.evaluate("new Promise(requestAnimationFrame)")
        angle = firefox.evaluate("[...studio.picture.viewer.results[0].quantities.get('crank.phi').values]")
        expected = linkwork.simulate(linkwork.loads(text))
        np.testing.assert_allclose(angle, expected["crank.phi"], atol=1e-6)
    finally:
        firefox.close()
        studio.shutdown()
        studio.end()
        thread.join()


def test_hostile_text_is_text(opened: Callable[[str | None], Page]) -> None:
    """Names, titles and whatever else a model says are shown, and never run; nothing is asked from elsewhere."""
    text = FOUR_BAR.replace("name: four_bar", f"name: {HOSTILE}</script><script>hacked=1</script>").replace(
        "P:", f"{HOSTILE}:"
    )
    for before, after in (
        ("  rocker: {", f"  {HOSTILE}: {{"),
        ("rocker.B", f"{HOSTILE}.B"),
        ("rocker.C", f"{HOSTILE}.C"),
    ):
        text = text.replace(before, after)
    page = opened(text)
    page.tab.mouse.move(*page.where("coupler.B"))
    page.settle()
    assert page.tab.inner_text(".faults") == ""
    page.put_cursor("linkwork: 1")
    page.type(f"\n{HOSTILE}: 1")
    assert HOSTILE in page.tab.inner_text(".faults")
    assert page.tab.locator("img").count() == 0
    assert page.tab.evaluate("window.hacked") == 0
    assert {address.split("/")[2] for address in page.asked if not address.startswith("data:")} == {
        page.tab.url.split("/")[2]
    }
    assert page.said == []
