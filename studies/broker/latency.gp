# Latency of each message against its number: a panel for each driver, a colour for each round.
#
#   mongodyno report DIR --format csv >messages.csv
#   mongodyno report DIR --format gnuplot >latency.gp
#   gnuplot -e "phase='burst'" latency.gp      # writes latency.svg; gnuplot 5.4 or later

if (!exists("phase")) phase = "burst"
if (!exists("data")) data = "messages.csv"
if (!exists("picture")) picture = "latency.svg"

set datafile separator comma
set datafile columnheaders
drawn(n) = strcol("phase") eq phase && strcol("tapped") eq "false"

arms = ""
name(arm) = strstrt(" ".arms." ", " ".arm." ") ? 1 : (arms = arms." ".arm, 1)
stats data using (drawn(0) ? name(strcol("arm")) : NaN) nooutput

# Lines of an arm come round by round, in the order in which messages were made.
round = 0
number(it) = it == round ? (count = count + 1) : (round = it, count = 1)
columns = 3
rows = ceil(words(arms) / real(columns))
set terminal svg size 1200, 260 * rows dynamic background "white"
set output picture
set multiplot layout rows, columns title phase noenhanced
set xlabel "message"
set ylabel "ms"
set tics font ",9"
set yrange [0:*]
do for [arm in arms] {
  round = 0
  set title arm noenhanced
  plot data using \
    (drawn(0) && strcol("arm") eq arm ? number(column("round")) : NaN): \
    (column("latency_us") / 1000):(column("round")) \
    with points pointtype 7 pointsize 0.2 linecolor variable notitle
}
unset multiplot
