set title "Llama 3.1 70B in fp8 on H200, 16 sequences of 2048 tokens"
set logscale x 2
set xlabel "tensor-parallel ranks"
set ylabel "time of a decode step (ms)"
set xrange [0.9:8.9]
set yrange [0:*]
set key top right noreverse Right
plot data."/law" using 1:2 with linespoints ls 1 title "bound", "" using 1:3 with linespoints ls 2 title "prediction (vLLM)", \
     "" using 1:4 with linespoints ls 4 title "communication in it"
