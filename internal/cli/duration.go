package cli

import (
	"strconv"
	"strings"
	"time"
)

// longestDays bounds a duration in days, so that it can be added to any time.
const longestDays = 100_000

// durationOf parses a duration as flags and arguments take it: a Go duration, or days such as 3d.
func durationOf(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseInt(days, 10, 64)
	return time.Duration(max(min(n, longestDays), -longestDays)) * 24 * time.Hour, err
}
