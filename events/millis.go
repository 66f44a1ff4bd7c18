package events

import (
	"strings"
	"time"
)

// Millis is a time on the wire, in milliseconds since 1970: a number over HTTP, as older clients read it, and RFC 3339
// text where the command line prints JSON. A duration is not a Millis.
type Millis int64

// Time returns the time.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// ParseFrom parses an RFC 3339 time with which a range begins. What it has beyond nanoseconds rounds it up, so that the
// range has nothing earlier; time.Parse leaves that out.
func ParseFrom(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, err
	}
	_, fraction, _ := strings.Cut(strings.Replace(text, ",", ".", 1), ".")
	end := strings.IndexFunc(fraction, func(r rune) bool { return r < '0' || r > '9' })
	const nanoseconds = 9
	if end > nanoseconds && strings.Trim(fraction[nanoseconds:end], "0") != "" {
		at = at.Add(1)
	}
	return at, nil
}
