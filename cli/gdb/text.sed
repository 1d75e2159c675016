# SPDX-License-Identifier: MIT
# text.sed: the lines of a text as C string literals.
s/\\/\\\\/g
s/"/\\"/g
s/^.*$/"&\\n"/
