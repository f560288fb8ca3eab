set terminal svg size 640,640 font "Helvetica,13" background "#ffffff"
set multiplot layout 2,1 title "Llama 3.1 70B on 16 H100 (vLLM, TP4), 4096 + 512 tokens"
set lmargin 9
set xrange [0:6.2]
set yrange [0:*]
set ylabel "p99 ITL (ms)"
set key at graph 0.02, 0.72
plot data."/both.tsv" using 1:4 with linespoints ls 2 title "4 replicas that do both", \
     data."/apart.tsv" using 1:4 with linespoints ls 4 title "2 prefill and 2 decode replicas"
set ylabel "mean TTFT (ms)"
set xlabel "requests/s"
set key top left
plot data."/both.tsv" using 1:2 with linespoints ls 2 title "4 replicas that do both", \
     data."/apart.tsv" using 1:2 with linespoints ls 4 title "2 prefill and 2 decode replicas"
unset multiplot
