package events

import (
	"fmt"
	"time"
)

// FirstYear and LastYear bound the clock that gives events their times. After LastYear there is room for the times of
// further events.
const (
	FirstYear = 1970
	LastYear  = 9000
)

// ClockError means that the clock shows a time that no event can have. Match it with errors.As.
type ClockError struct{ At time.Time }

func (e *ClockError) Error() string {
	return fmt.Sprintf("the machine's clock shows %s, and events have times of the years %d to %d",
		e.At.UTC().Format(time.RFC3339), FirstYear, LastYear)
}

// CheckClock fails with *ClockError when a clock shows a time that no event can have.
func CheckClock(at time.Time) error {
	if year := at.UTC().Year(); year < FirstYear || year > LastYear {
		return &ClockError{at}
	}
	return nil
}
