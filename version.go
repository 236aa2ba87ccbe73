package usher

// Version is the version of this library and of the usher command.
const Version = "0.1.0-dev"
