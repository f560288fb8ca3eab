set title "Mean wait of a queue, in service times"
set xlabel "utilisation"
set ylabel "wait over service time"
set xrange [0:0.97]
set yrange [0:12]
mm1(r) = r / (1 - r)
# Erlang C of four servers
erlang(a) = (a**4 / 24 * 4 / (4 - a)) / (1 + a + a**2 / 2 + a**3 / 6 + a**4 / 24 * 4 / (4 - a))
plot mm1(x) ls 2 title "M/M/1: exponential service", mm1(x) / 2 ls 1 title "M/D/1: equal service", \
     erlang(4 * x) / (4 - 4 * x) ls 4 title "M/M/4: four servers"
