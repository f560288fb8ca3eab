set terminal svg size 640,800 font "Helvetica,13" background "#ffffff"
set multiplot layout 3,1 title "Llama 3.1 70B on 8 H100 (TP8, vLLM), 2048 + 512 tokens"
set logscale x 2
set xrange [1:256]
set lmargin 9
set ylabel "ITL (ms)"
set yrange [0:*]
plot data."/predicted" using 1:3:4 with filledcurves fc rgb "#D55E00" fs transparent solid 0.18 title "80 % interval", \
     "" using 1:2 ls 2 with lines title "prediction, mean", data."/bound" using 1:2 ls 1 with lines title "bound"
set ylabel "TTFT (ms)"
plot data."/predicted" using 1:6:7 with filledcurves fc rgb "#D55E00" fs transparent solid 0.18 title "80 % interval", \
     "" using 1:5 ls 2 with lines title "prediction, mean", data."/bound" using 1:3 ls 1 with lines title "bound"
set ylabel "output (1000 tokens/s)"
set xlabel "concurrent requests"
plot data."/predicted" using 1:8 ls 2 with lines title "prediction", data."/bound" using 1:4 ls 1 with lines title "bound"
unset multiplot
