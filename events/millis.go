package events

import "time"

// Millis is a time on the wire, in milliseconds since 1970: a number over HTTP, as older clients read it, and RFC 3339
// text where the command line prints JSON. A duration is not a Millis.
type Millis int64

// Time returns the time.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }
