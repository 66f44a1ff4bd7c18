package backups

import (
	"time"

	"maestro/internal/failure"
)

// Options determine when a server makes automatic backups, and where, according to the flags of `maestro serve`.
type Options struct {
	// Every is a duration, or Off; Dir is "" for the directory beside the home.
	Every, Dir string
	Keep       int
}

// Off is the interval that disables backups.
const Off = "off"

// Interval parses Every; 0 is off.
func (o Options) Interval() (time.Duration, error) {
	if o.Every == Off {
		return 0, nil
	}
	every, err := time.ParseDuration(o.Every)
	if err != nil || every < time.Second {
		return 0, failure.Usage("--backup-every must be a duration of a second or more, such as 24h, or off; not %q",
			o.Every)
	}
	if o.Keep < 1 {
		return 0, failure.Usage("--backup-keep is 1 or more, not %d", o.Keep)
	}
	return every, nil
}

// CheckPlace refuses a directory of backups inside the home, whose directories are of.
func (o Options) CheckPlace(home string, of []string) error {
	if o.Dir == "" && o.Every == Off {
		return nil
	}
	place := At(home, o.Dir, "").Path()
	if err := CheckPlace(place, of...); err != nil {
		return failure.Usage("Automatic backups cannot go to %s", place).WithWhy("%s", err).
			WithNext("name a directory outside the home with --backup-dir, on another disk if there is one")
	}
	return nil
}
