package apiservertest

import (
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/convoy-dev/convoy/internal/testenv"
)

// StartForBenchmark starts an environment with convoy-apiserver in it, which logs nothing.
func StartForBenchmark(b *testing.B) *testenv.Environment {
	b.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	env := testenv.Start(b, testenv.WithAggregation())
	Start(b, env)
	return env
}

// ReportPercentiles reports the median and the 95th percentile in milliseconds, in the place of a mean: that of a skewed distribution tells
// little.
func ReportPercentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(percent int) float64 { return float64(took[len(took)*percent/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(95), "p95-ms")
	b.ReportMetric(0, "ns/op")
}
