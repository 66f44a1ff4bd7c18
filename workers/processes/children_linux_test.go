package processes

import (
	"errors"
	"os/exec"
	"sync"
	"testing"
)

// Whoever waits for a child gets its exit code, however often the process removes adopted ones meanwhile.
func TestReapLeavesChildrenAlone(t *testing.T) {
	var children Children
	stop := make(chan struct{})
	var reaping sync.WaitGroup
	reaping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				children.Reap()
			}
		}
	})
	defer reaping.Wait()
	defer close(stop)
	for range 50 {
		err := children.Run(exec.CommandContext(t.Context(), "sh", "-c", "exit 3"))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("a child that ended with 3 ended with %v", err)
		}
	}
	if len(children.pids) > 0 {
		t.Errorf("children that were waited for are still known: %v", children.pids)
	}
}
