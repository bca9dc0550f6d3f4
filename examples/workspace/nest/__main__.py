"""python3 -m nest MILLIMETRES"""

import sys

from nest.birds import birds_for

if len(sys.argv) != 2 or not sys.argv[1].isdigit():
    sys.exit("usage: python3 -m nest MILLIMETRES")  # TODO: take fractions of an inch, too
for bird in birds_for(int(sys.argv[1])):
    print(bird)
