#!/bin/sh
# Answers like a measuring process, at once, with round figures.
here=${0%/*}
if [ -e "$here/hang" ]; then
  echo $$ > "$here/pid"
  exec sleep 600
fi
what=$2
update=null
shift 2
[ "$1" = --embedded ] && shift
while [ $# -gt 1 ]; do
  case $1 in
    --engine) engine=$2 ;;
    --api) api=$2 ;;
    --access) access=$2 ;;
    --io) io=$2 ;;
    --update) update=\"$2\" ;;
    --connections) connections=$2 ;;
    --outstanding) window=$2 ;;
    --operations) operations=$2 ;;
    --warmup-operations) warmup=$2 ;;
    --protocol) protocol=$2 ;;
    --implementation) implementation=$2 ;;
    --execution) execution=$2 ;;
    --io-model) model=$2 ;;
    --io-threads) threads=$2 ;;
    --traffic) traffic=$2 ;;
    --payload) payload=$2 ;;
    --clients) clients=$2 ;;
    --window) window=$2 ;;
    --work) work=$2 ;;
  esac
  shift 2
done
mode=message
[ "$traffic" = batch ] && [ "$window" -gt 1 ] && mode=batch
rate=$((100000 + window * 1000 + $$ % 500))
[ "$execution" = async ] && rate=$((rate - 4000))
ok=true errors=0 error=null status=0
if [ -e "$here/fault" ] && [ "$(cat "$here/fault")" = "$window $execution" ]; then
  ok=false errors=7 error='"seven replies differed"' status=1
  echo "it went wrong" >&2
fi
if [ "$what" = database ]; then
  cat <<JSON
{"ok":$ok,"error":$error,"errors":$errors,"engine":"$engine","api":"$api","access":"$access",
"execution":"$execution","server":"embedded","io":"$io","update":$update,"connections":$connections,
"outstanding":$window,"payload_bytes":$payload,"operations":$operations,"warmup_operations":$warmup,
"elapsed_seconds":1.0,"operations_per_second":$rate,"client_cpu_ns_per_operation":$((1000000000 / rate)),
"observations":$operations,"p50_us":40.5,"p95_us":60.0,"p99_us":75.25,"cpu_percent":88.5,
"peak_rss_bytes":2097152}
JSON
  exit $status
fi
cat <<JSON
{"ok":$ok,"error":$error,"implementation":"$implementation","execution":"$execution","backend":"fake",
"protocol":"$protocol","traffic":"$traffic","io_model":"$model","io_threads":$threads,
"payload_bytes":$payload,"clients":$clients,"window":$window,"handler_work":$work,"latency_mode":"$mode",
"elapsed_seconds":1.0,"messages":10000,"warmup_messages":1000,"roundtrips_per_second":$rate,
"rtt_observations":10000,"rtt_p50_us":90.5,"rtt_p95_us":120.0,"rtt_p99_us":150.25,
"cpu_percent":99.5,"cpu_ns_per_message":$((1000000000 / rate)),"peak_rss_bytes":4194304,
"cpu_interval":"measured phase","content_errors":$errors,@COUNTERS@}
JSON
exit $status
