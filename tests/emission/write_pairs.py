"""Write what is emitted today into the pair files; the differences are to be read before they are committed."""

from .pairs import FOLDER, write_pairs

if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.hlo")):
        write_pairs(path)
