set terminal svg size 640,620 font "Helvetica,13" background "#ffffff"
set multiplot layout 2,1
set logscale x
set xrange [1:4096]
set xlabel "tokens of the group"
set title "Distinct experts, 8 of 128 per token"
set ylabel "experts touched"
set yrange [0:140]
set key bottom right noreverse Right
plot 128 * (1 - (1 - 8 / 128.0)**x) ls 1 title "E (1 - (1 - k/E)^T)", data."/touched" ls 3 ps 0.6 with points title "drawn at random"
set title "Expert block of 2048 x 768 on an H200, bf16, weights cold"
set ylabel "time (us)"
set logscale y
set yrange [5:20000]
set key top left reverse Left
plot data."/law" using 1:4:5 with filledcurves fc rgb "#D55E00" fs transparent solid 0.18 title "80 % interval", \
     "" using 1:2 ls 1 with lines title "bound", "" using 1:3 ls 2 with lines title "prediction (Triton)", \
     data."/measured" ls 3 ps 0.6 with points title "measured (own kernel)"
unset multiplot
