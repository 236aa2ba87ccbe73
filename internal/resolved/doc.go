// Package resolved finds out which version of a package a running server is: what `npx server`, `bunx server`,
// `pnpm dlx server`, `uvx server` or `pipx run server` turned out to be this time. It looks at the files that the child's
// processes run.
//
// It tells an update from none. It doesn't prove anything: a process can say that it runs another file, and a package
// that its version is another. It installs and runs nothing, and asks no registry.
package resolved
