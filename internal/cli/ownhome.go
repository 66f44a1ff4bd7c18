package cli

import "maestro/internal/home"

// openHome opens this machine's home, which the caller closes; nil if there is none that this process may read.
func (a *Run) openHome() *home.Home {
	path, err := home.Path(a.Getenv)
	if err != nil {
		return nil
	}
	h, err := home.Open(path)
	if err != nil {
		return nil
	}
	return h
}
