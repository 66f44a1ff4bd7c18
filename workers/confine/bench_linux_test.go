package confine

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkStart runs /bin/true confined and as it is, in turns, and reports both times and what confinement adds.
func BenchmarkStart(b *testing.B) {
	available := Available(b.Context(), agentExec())
	temp := b.TempDir()
	home, err := os.UserHomeDir()
	if err != nil {
		b.Fatal(err)
	}
	p := Policy{Home: home, Temp: temp}
	var open, all, alone time.Duration
	run := func(layers []Layer) time.Duration {
		at := time.Now()
		cmd := exec.Command("/bin/true")
		cmd.Dir = temp
		process, err := Start(b.Context(), agentExec(), p, layers, cmd)
		if err == nil {
			err = process.Wait()
		}
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(at)
	}
	for b.Loop() {
		at := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		open += time.Since(at)
		all += run(p.Layers(available))
		alone += run(without(p.Layers(available), Namespaces))
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(ms(open), "ms/unconfined")
	b.ReportMetric(ms(all), "ms/confined")
	b.ReportMetric(ms(alone), "ms/without-namespaces")
	b.ReportMetric(float64(all)/float64(open), "ratio")
}
