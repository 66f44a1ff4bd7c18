package events

import "time"

// Millis is a time, in milliseconds since 1970, as shapes on the wire have it: a number over HTTP, as older clients
// read it, and RFC 3339 text where the command line prints JSON. A length of time is no Millis.
type Millis int64

// Time returns the time.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }
