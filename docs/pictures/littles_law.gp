set title "Reads of DRAM on an H200"
set logscale x
set xlabel "bytes in flight (MB)"
set ylabel "bandwidth (TB/s)"
set xrange [0.01:30]
set yrange [0:8]
law(x) = x / 0.34 < 4.8 ? x / 0.34 : 4.8
plot law(x) ls 1 title "Little's law: min(4.8 TB/s, bytes / 340 ns)", \
     data."/measured" using 1:($3 == 1 ? $2 : NaN) ls 3 with points title "measured, a thread waits for 1 load", \
     data."/measured" using 1:($3 == 8 ? $2 : NaN) ls 3 pt 6 with points title "measured, a thread waits for 8 loads"
