set title "Clock under a power cap, 100 W idle, 500 W dynamic"
set xlabel "power cap (W)"
set ylabel "share of the full clock"
set xrange [100:700]
set yrange [0:1.4]
share(x, e) = x <= 100 ? 0 : (x - 100) / 500.0 > 1 ? 1 : ((x - 100) / 500.0)**(1.0 / e)
set samples 200
plot share(x, 3) ls 1 title "exponent 3: voltage follows frequency", share(x, 2) ls 4 title "exponent 2", \
     share(x, 1) ls 2 title "exponent 1: voltage floor"
