package processes

import (
	"os/exec"
	"sync"
)

// Children are the children that this process has started and waits for itself. A process that adopts others removes
// those that have ended with Reap, which would otherwise take away a child's exit code from whoever waits for it. The
// zero value has none.
type Children struct {
	mu   sync.Mutex
	pids map[int]bool
}

// Start calls start, which starts a child and returns its process id. Nothing is reaped meanwhile.
func (c *Children) Start(start func() (pid int, err error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := start()
	if err != nil {
		return err
	}
	if c.pids == nil {
		c.pids = map[int]bool{}
	}
	c.pids[pid] = true
	return nil
}

// Ended forgets a child, once it was waited for.
func (c *Children) Ended(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
}

// Run starts a command and waits for it.
func (c *Children) Run(cmd *exec.Cmd) error {
	err := c.Start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return err
	}
	defer c.Ended(cmd.Process.Pid)
	return cmd.Wait()
}

// Reap removes adopted processes that have ended from the process table.
func (c *Children) Reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	reap(c.pids)
}
