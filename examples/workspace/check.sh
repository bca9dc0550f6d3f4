#!/bin/sh
# Checks that every size has its birds. Prints as it goes.
for size in 26 32 35 45; do
    count=$(python3 -m nest "$size" | wc -l)
    echo "an entrance of $size mm lets in $count kinds of birds"
done
