set title "Llama 3.1 70B, 64 requests of 2048 + 512 tokens"
set xlabel "mean ITL (ms)"
set ylabel "USD per million output tokens"
set xrange [0:*]
set yrange [0:*]
set key top right noreverse Right
plot data."/frontier" using 1:2 with points ls 2 pt 7 ps 0.8 title "Pareto front (fp8 weights at each point)", \
     "" using 1:2:($1 > 14 || $1 < 7 ? sprintf("%d", $3) : "") with labels offset 0.4,0.8 tc rgb "#444444" notitle, \
     NaN with points lc rgb "#ffffff" title "(labels: number of GPUs)"
