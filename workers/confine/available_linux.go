package confine

import (
	"errors"
	"fmt"
	"runtime"
)

// candidates are the layers of this system. Those that a look at the kernel excludes have a reason.
func candidates() []candidate {
	var landlockMissing, portsMissing, seccompMissing error
	version := kernelLandlock()
	if version == 0 {
		version = oldestLandlock
		landlockMissing = fmt.Errorf("this kernel has no Landlock, or one older than version %d: "+
			"use Linux 6.2 or later, with landlock in its lsm= list", oldestLandlock)
	}
	if portsMissing = landlockMissing; portsMissing == nil && version < landlockPorts {
		portsMissing = fmt.Errorf("this kernel has %s, which cannot restrict ports: use Linux 6.7 or later",
			landlock(version))
	}
	if _, known := thisMachine(); !known {
		seccompMissing = fmt.Errorf("there is no filter for processors of type %s", runtime.GOARCH)
		portsMissing = errors.Join(portsMissing, seccompMissing)
	}
	return []candidate{
		{layer: landlock(version), missing: landlockMissing},
		{layer: Namespaces},
		{layer: Seccomp, missing: seccompMissing},
		{layer: NoNewPrivileges},
		{layer: NetworkPorts, with: []Layer{landlock(version), Seccomp}, missing: portsMissing},
		{layer: NetworkNone, with: []Layer{Namespaces}},
	}
}
