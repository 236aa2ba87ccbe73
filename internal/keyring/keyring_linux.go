package keyring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ss "github.com/zalando/go-keyring/secret_service"
)

// reachable looks for a message bus that runs already: without one, the library would start one that nobody ends.
func reachable() error {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && !strings.HasPrefix(address, "autolaunch:") {
		return nil
	}
	here := filepath.Join("/run/user", fmt.Sprint(os.Getuid()), "bus") // where the library looks
	if isSocket(here) {
		return nil
	}
	if bus := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"); filepath.IsAbs(bus) && isSocket(bus) {
		return errors.New("the keyring can't be found; set DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus)
	}
	return errors.New("there is no desktop session with a keyring here (no DBUS_SESSION_BUS_ADDRESS)")
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// names asks for what is filed under the service, not for what is in it.
func names() ([]string, error) {
	s, err := ss.NewSecretService()
	if err != nil {
		return nil, err
	}
	collection := s.GetLoginCollection()
	items, err := s.SearchItems(collection, map[string]string{"service": service})
	if err != nil {
		return nil, err
	}
	all := []string{}
	for _, item := range items {
		v, err := s.Object("org.freedesktop.secrets", item).GetProperty("org.freedesktop.Secret.Item.Attributes")
		if err != nil {
			return nil, err
		}
		if attributes, ok := v.Value().(map[string]string); ok && attributes["username"] != "" {
			all = append(all, attributes["username"])
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
