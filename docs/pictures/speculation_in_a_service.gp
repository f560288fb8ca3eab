set title "4 free draft tokens, acceptance 0.75, 70B on 8 H100"
set logscale x 2
set xlabel "batch (sequences)"
set ylabel "speed-up of the model's steps"
set xrange [1:256]
set yrange [0:3.5]
set key bottom right noreverse Right
plot data."/512" with linespoints ls 1 title "context 512", data."/4096" with linespoints ls 2 title "4096", \
     data."/32768" with linespoints ls 4 title "32768", 1 ls 8 notitle
