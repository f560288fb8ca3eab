set title "Speculative decoding, draft step of 5 % of a target step"
set xlabel "draft length k (tokens)"
set ylabel "speed-up"
set xrange [1:16]
set yrange [0.8:5.5]
plot data."/0.9" using 1:3 with linespoints ls 1 title "acceptance 0.9", \
     data."/0.8" using 1:3 with linespoints ls 2 title "0.8", \
     data."/0.7" using 1:3 with linespoints ls 4 title "0.7", \
     data."/0.6" using 1:3 with linespoints ls 5 title "0.6", 1 ls 8 notitle
