package projections

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"maestro/events"
)

// chainOf returns tasks that each depend on the next one and on the last one.
func chainOf(n int) (tasks []*Task) {
	for i := range n {
		t := &Task{TaskFields: &TaskFields{ID: fmt.Sprintf("task_%024d", i)}, Status: events.TaskTodo}
		if i < n-1 {
			t.Dependencies = []string{fmt.Sprintf("task_%024d", i+1), fmt.Sprintf("task_%024d", n-1)}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// took returns how many bytes work allocates in total, and by how many its stack grows.
func took(work func()) (heap, stack uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
		runtime.ReadMemStats(&after)
	}()
	<-done
	return after.TotalAlloc - before.TotalAlloc, after.StackInuse - min(before.StackInuse, after.StackInuse)
}

// Ordering a chain of dependencies of any length takes no more memory than is counted for it, and no stack.
func TestOrderingTakesWhatIsCounted(t *testing.T) {
	const mostStack = 1 << 20
	for _, n := range []int{100, 3000, 3700, 100_000} {
		tasks := chainOf(n)
		var ordered []*Task
		heap, stack := took(func() { ordered = InDependencyOrder(tasks) })
		if heap > uint64(n)*OrderSize+4096 || stack > mostStack {
			t.Errorf("%d tasks take %d bytes, of which %d are counted, and %d of stack", n, heap, n*OrderSize, stack)
		}
		for i, task := range ordered {
			if task != tasks[n-1-i] {
				t.Fatalf("of %d tasks, %s is at %d", n, task.ID, i)
			}
		}
		for i, task := range tasks { // one below the other as well
			task.ParentID = tasks[max(0, i-1)].ID
		}
		heap, stack = took(func() { ordered = InCompletionOrder(tasks) })
		if heap > uint64(n)*OrderSize+4096 || stack > mostStack {
			t.Errorf("%d tasks take %d bytes, of which %d are counted, and %d of stack", n, heap, n*OrderSize, stack)
		}
		if ordered[0] != tasks[n-1] || ordered[n-1] != tasks[0] {
			t.Errorf("%d tasks are out of order", n)
		}
		branches := make([]*Branch, n)
		for i, task := range tasks {
			branches[i] = &Branch{Task: task}
		}
		heap, stack = took(func() { OrderBranches(branches) })
		if heap > uint64(n)*OrderSize+4096 || stack > mostStack {
			t.Errorf("%d branches take %d bytes, of which %d are counted, and %d of stack", n, heap, n*OrderSize, stack)
		}
		if branches[0].Task != tasks[n-1] || branches[n-1].Task != tasks[0] {
			t.Errorf("%d branches are out of order", n)
		}
	}
}
