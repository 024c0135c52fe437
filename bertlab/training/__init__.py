"""The Lightning core: modules, data modules and callbacks. Imported only when something is trained."""
