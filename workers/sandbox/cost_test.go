package sandbox_test

import (
	"os/exec"
	"testing"
	"time"

	"maestro/workers/sandbox"
)

// BenchmarkJudge shows what a judgement costs, next to the start of one small command, `git status`, in the same run.
func BenchmarkJudge(b *testing.B) {
	examples := corpus(b)
	lines := make([]string, 0, len(examples))
	for _, x := range examples {
		lines = append(lines, filled(x.Cmd))
	}
	dir := b.TempDir()
	if err := exec.CommandContext(b.Context(), "git", "-C", dir, "init", "-q").Run(); err != nil {
		b.Fatal(err)
	}
	const starts = 20
	begin := time.Now()
	for range starts {
		if err := exec.CommandContext(b.Context(), "git", "-C", dir, "status").Run(); err != nil {
			b.Fatal(err)
		}
	}
	status := time.Since(begin) / starts
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		for _, line := range lines {
			sandbox.Judge(dirs, line)
		}
	}
	perLine := b.Elapsed() / time.Duration(b.N*len(lines))
	b.ReportMetric(float64(perLine.Nanoseconds()), "ns/line")
	b.ReportMetric(float64(status.Nanoseconds()), "ns/git-status")
	b.ReportMetric(100*float64(perLine)/float64(status), "%-of-git-status")
}
