set title "Llama 3.1 70B on H100, memory as vLLM starts, 16-bit cache"
set logscale xy
set xlabel "context (tokens)"
set ylabel "sequences that fit"
set xrange [1024:131072]
set yrange [0.8:3000]
set xtics (1024, 4096, 16384, 65536)
set key top right noreverse Right
plot data."/8bf16" with linespoints ls 1 title "TP8, bf16 weights", data."/4fp8" with linespoints ls 4 title "TP4, fp8 weights", \
     data."/4bf16" with linespoints ls 2 title "TP4, bf16 weights", data."/2fp8" with linespoints ls 5 title "TP2, fp8 weights"
