package manifest

import "fmt"

// Least adds up the bytes of the texts that Generate would write. The manifest is at least that long.
func (from *Source) Least() int {
	n := 0
	for _, task := range from.Tasks {
		n += len(task.Title) + len(task.Description) + len(task.Metadata) + len(task.Reopened)
		for _, criterion := range task.AcceptanceCriteria {
			n += len(criterion)
		}
	}
	for _, task := range related(*from) {
		n += len(task.Title) + len(task.Description) + len(task.Summary)
	}
	return n
}

// TooLong returns the *InvalidError of a manifest whose texts have so many bytes, nil if that is permitted.
func TooLong(texts int) error {
	if texts <= MaxSize {
		return nil
	}
	return whole(fmt.Sprintf(
		"the texts of its tasks have %d bytes or more; a manifest has at most %d (16 MiB)", texts, MaxSize,
	))
}
