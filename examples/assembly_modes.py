"""All ways in which a six-bar can be put together, each certified"""

import linkwork as lw

found = lw.modes(lw.load("watt_six_bar"))
print(found)
