package sandbox_test

import (
	"os/exec"
	"testing"
	"time"

	"maestro/internal/testing/race"
	"maestro/workers/sandbox"
)

// mostOfStatus bounds what a judgement costs, as a part of one small command, `git status`.
const mostOfStatus = 0.01

// costs returns the mean time of a judgement, over all lines of the corpus, and the time of one `git status` in an
// empty repository. Of each line, and of the status, the shortest of several counts, taken in turns: whatever else the
// machine does makes them only longer.
func costs(t *testing.T) (judgement, status time.Duration) {
	t.Helper()
	examples := corpus(t)
	lines, shortest := make([]string, len(examples)), make([]time.Duration, len(examples))
	for i, x := range examples {
		lines[i], shortest[i] = filled(x.Cmd), time.Hour
	}
	dir := t.TempDir()
	if err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").Run(); err != nil {
		t.Fatal(err)
	}
	status = time.Hour
	for range 30 {
		begin := time.Now()
		if err := exec.CommandContext(t.Context(), "git", "-C", dir, "status").Run(); err != nil {
			t.Fatal(err)
		}
		status = min(status, time.Since(begin))
		for i, line := range lines {
			begin := time.Now()
			sandbox.Judge(dirs, line)
			shortest[i] = min(shortest[i], time.Since(begin))
		}
	}
	for _, took := range shortest {
		judgement += took
	}
	return judgement / time.Duration(len(lines)), status
}

// A judgement costs less than 1 % of a `git status`, so an agent does not notice it.
func TestJudgementCostsLittle(t *testing.T) {
	race.Without(t)
	judgement, status := costs(t)
	t.Logf("%s, %.2f %% of the %s of a git status", judgement, 100*float64(judgement)/float64(status), status)
	if float64(judgement) >= mostOfStatus*float64(status) {
		t.Errorf("a judgement costs %s, and a git status %s", judgement, status)
	}
}

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
