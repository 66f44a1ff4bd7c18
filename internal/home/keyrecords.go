package home

import (
	"path/filepath"
	"strings"
)

// keyMarkFile holds the fingerprint of the server's key, beside the log: the secrets of the log's sessions were derived
// from that key. The version file has the fingerprint too.
var keyMarkFile = filepath.Join(storeDir, "key.id")

// keyMark reads the fingerprint beside the log, "" if there is none.
func (h *Home) keyMark() string {
	content, err := h.read(keyMarkFile, maxNote)
	if err != nil {
		return "" // the version file has it too
	}
	return strings.TrimSpace(string(content))
}

// MarkKey records beside the log the key from which the secrets of its sessions are derived. It writes nothing if that
// is recorded already.
func (l *Lock) MarkKey(fingerprint string) error {
	if l.keyMark() == fingerprint {
		return nil
	}
	return l.write(keyMarkFile, []byte(fingerprint+"\n"))
}

// keyRecords are the two fingerprints that a home has of its key; "" for one that it lacks.
type keyRecords struct {
	version, mark string
}

// areOfAnother reports whether the records show that the home's secrets were not derived from the key with this
// fingerprint. A record that names the key counts for more than one that is damaged. A mark that names another key
// says that the log beside it was moved here from another home, whatever the version file says.
func (r keyRecords) areOfAnother(own string) bool {
	switch {
	case isNearly(r.mark, own):
		return false
	case isFingerprint(r.mark):
		return true
	}
	return (r.version != "" || r.mark != "") && !isNearly(r.version, own)
}

// damaged lists the files whose record differs from the fingerprint of the home's own key.
func (r keyRecords) damaged(own string) (names []string) {
	if r.areOfAnother(own) {
		return nil
	}
	if r.version != "" && r.version != own {
		names = append(names, versionFile)
	}
	if r.mark != "" && r.mark != own {
		names = append(names, keyMarkFile)
	}
	return names
}

// fingerprintDigits is the length of a fingerprint, damagedDigits the number of digits in which a damaged one may
// differ from what it was: two keys do not have fingerprints as alike as that.
const (
	fingerprintDigits = 2 * fingerprintBytes
	damagedDigits     = 4
)

// isNearly reports whether a record is a fingerprint, or was before a few of its digits were damaged.
func isNearly(record, fingerprint string) bool {
	if len(record) != len(fingerprint) {
		return false
	}
	differ := 0
	for i := range len(record) {
		if record[i] != fingerprint[i] {
			differ++
		}
	}
	return differ <= damagedDigits
}

// isFingerprint reports whether a record has the form of a fingerprint.
func isFingerprint(record string) bool {
	return len(record) == fingerprintDigits && strings.Trim(record, "0123456789abcdef") == ""
}

// isForeign reports whether the home's records show that its secrets were not derived from a key.
func (h *Home) isForeign(key []byte, wrote Version) bool {
	return keyRecords{wrote.Key, h.keyMark()}.areOfAnother(Fingerprint(key))
}

// DamagedKeyRecords lists the paths of the files whose record of the home's key is damaged, while the key is shown to
// be the right one. A server that claims the home writes them again.
func (h *Home) DamagedKeyRecords() (paths []string) {
	for _, name := range h.damagedKeyRecords() {
		paths = append(paths, filepath.Join(h.dir, name))
	}
	return paths
}

func (h *Home) damagedKeyRecords() []string {
	key, err := h.serverKey()
	if err != nil {
		return nil // nothing shows which record is right
	}
	wrote, err := h.Version()
	if err != nil {
		return nil
	}
	return keyRecords{wrote.Key, h.keyMark()}.damaged(Fingerprint(key))
}
